import type { Locator, Page } from 'playwright-core'
import type { Records } from './screens.ts'

/** A page in a certain state, such as with an open dialog. */
interface State {
  name: string
  path: string | ((records: Records) => string)
  /** Brings the page into the state, and returns what is visible then. */
  enter(page: Page): Promise<Locator> | Locator
}

const press = async (page: Page, keys: string): Promise<void> => {
  await page.getByRole('row').nth(1).waitFor()
  await page.keyboard.press(keys)
}
const click = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click()
const dialog = (page: Page) => page.getByRole('dialog')

/** Those that need a mouse, a keyboard or space. */
export const onlyOnDesktops = ['the choice of columns', 'the list of shortcuts', 'a tooltip']

/** Opens the state's page and brings it into the state. The caller removes what intercepts requests. */
export async function enterState(page: Page, { path, enter }: State, records: Records): Promise<void> {
  await page.goto(typeof path === 'string' ? path : path(records))
  await (await enter(page)).waitFor()
}

export const states: readonly State[] = [
  { name: 'the dialog for a new contact', path: '/contacts?new=1', enter: dialog },
  {
    name: 'the confirmation of a deletion',
    path: ({ contact }) => `/contacts/${contact}`,
    enter: async (page) => {
      await click(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      return dialog(page)
    },
  },
  {
    name: 'the form that erases a contact',
    path: ({ contact }) => `/contacts/${contact}`,
    enter: async (page) => {
      await click(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Erase…' }).click()
      return dialog(page)
    },
  },
  {
    name: 'the form of a filter',
    path: '/contacts?filter.status.equals=active',
    enter: async (page) => (await click(page, /^Filter$/), dialog(page)),
  },
  {
    name: 'the form of a group of filters',
    path: () => `/contacts?tree=${encodeURIComponent(JSON.stringify(group))}`,
    enter: async (page) => {
      await page
        .getByRole('toolbar')
        .getByRole('button', { name: /^Country is Germany or/ })
        .click()
      return dialog(page).getByRole('group', { name: 'Condition 2' }).first()
    },
  },
  {
    name: 'a filter that cannot be read',
    path: '/contacts?tree=x',
    enter: (page) => page.getByRole('alert').getByText('This filter is not valid'),
  },
  {
    name: 'a view with unsaved changes and its options',
    path: ({ view }) => `/contacts?view=${view}&query=a`,
    enter: async (page) => {
      await page.getByRole('button', { name: 'Save as new' }).waitFor()
      await click(page, 'Options of the view')
      return page.getByRole('menu')
    },
  },
  {
    name: 'the form of a new view',
    path: ({ view }) => `/contacts?view=${view}`,
    enter: async (page) => (await click(page, 'Save as a new view'), dialog(page)),
  },
  {
    name: 'the order of the views',
    path: ({ view }) => `/contacts?view=${view}`,
    enter: async (page) => {
      await click(page, 'Options of the view')
      await page.getByRole('menuitem', { name: 'Change the order' }).click()
      return dialog(page)
    },
  },
  {
    name: 'a view that was deleted',
    path: () => `/contacts?view=vie_${'0'.repeat(32)}`,
    enter: (page) => page.getByRole('alert').getByText('This view is not available'),
  },
  {
    name: 'the choice of columns',
    path: '/contacts',
    enter: async (page) => (await click(page, 'Columns'), dialog(page)),
  },
  {
    name: 'a menu',
    path: '/contacts',
    enter: async (page) => (await click(page, 'More actions'), page.getByRole('menu')),
  },
  {
    name: 'the palette with hits',
    path: '/contacts',
    enter: async (page) => {
      await press(page, 'Control+k')
      await page.getByRole('combobox').fill('an')
      return page.getByRole('option').nth(3)
    },
  },
  { name: 'the list of shortcuts', path: '/contacts', enter: async (page) => (await press(page, '?'), dialog(page)) },
  {
    name: 'a selection with its actions',
    path: '/contacts',
    enter: async (page) => {
      await page.getByRole('row').nth(2).getByRole('checkbox').click()
      return page.getByRole('region', { name: 'Actions for the selection' })
    },
  },
  {
    name: 'the preview of a record',
    path: (ids) => `/contacts?peek=${ids.contact}`,
    enter: (page) => page.getByRole('complementary', { name: /^Preview: \w/ }),
  },
  {
    name: 'the menu of a card',
    path: '/deals?view=board',
    enter: async (page) => (await click(page, 'Actions for Annual licence'), page.getByRole('menu')),
  },
  {
    name: 'the question why a deal was lost',
    path: ({ deal }) => `/deals/${deal}`,
    enter: async (page) => (await click(page, /^Lost$/), dialog(page)),
  },
  {
    name: 'a card that is carried',
    path: '/deals?view=board',
    enter: async (page) => {
      await page.getByRole('link', { name: 'Annual licence' }).focus()
      await page.keyboard.press('Space')
      return page.getByText(/^Annual licence is picked up: Lead, position \d+\.$/)
    },
  },
  {
    name: 'the form of a stage',
    path: (ids) => `/settings/pipelines?pipeline=${ids.pipeline}`,
    enter: async (page) => (await click(page, 'Add a stage'), dialog(page)),
  },
  {
    name: 'the form of a property with choices',
    path: '/settings/properties',
    enter: async (page) => {
      await click(page, 'New property')
      await dialog(page)
        .getByRole('radio', { name: /^Choice/ })
        .press('Space')
      return dialog(page).getByRole('button', { name: 'Add a choice' })
    },
  },
  {
    name: 'the form of a task',
    path: (ids) => `/contacts/${ids.contact}`,
    enter: async (page) => (await click(page, 'New task'), dialog(page)),
  },
  {
    name: 'the form of a suggestion',
    path: () => '/suggestions',
    enter: async (page) => (
      await page.locator('[data-suggestion=open]').first().focus(),
      await page.keyboard.press('e'),
      dialog(page)
    ),
  },
  {
    name: 'a note that is being edited',
    path: (ids) => `/contacts/${ids.contact}?kind=note`,
    enter: async (page) => (
      await click(page, 'Edit the note'),
      page.getByRole('textbox', { name: 'Text of the note' })
    ),
  },
  {
    name: 'the people to mention in a note',
    path: (ids) => `/contacts/${ids.contact}`,
    enter: async (page) => {
      await page.getByRole('textbox', { name: 'New note' }).pressSequentially('@')
      return page.getByRole('listbox', { name: 'Mention a person' })
    },
  },
  {
    name: 'a timeline without entries of a kind',
    path: (ids) => `/deals/${ids.deal}?kind=import`,
    enter: (page) => page.getByRole('button', { name: 'Show all', exact: true }),
  },
  {
    name: 'an open row of an import',
    path: (ids) => `/imports/${ids.import}?row=${ids.row}`,
    enter: (page) => page.getByRole('heading', { name: 'Payload' }),
  },
  {
    name: 'a form with an error',
    path: '/settings/teams',
    enter: async (page) => {
      await click(page, 'New team')
      await dialog(page).getByRole('textbox').fill('Partners')
      await dialog(page)
        .getByRole('button', { name: /Create|New team/ })
        .click()
      return dialog(page).locator('[aria-invalid=true], [role=alert]').first()
    },
  },
  {
    name: 'an error of the service',
    path: '/',
    enter: async (page) => {
      await page.route('**/v5/contacts?*', (route) => route.fulfill({ status: 500, json: failure }))
      await page.goto('/contacts')
      return page.getByRole('button', { name: 'Try again' })
    },
  },
  {
    name: 'a tooltip',
    path: '/contacts',
    enter: async (page) => {
      await page.getByRole('button', { name: 'More actions' }).first().hover()
      return page.getByText('More actions', { exact: true }).first()
    },
  },
  {
    name: 'an application that could not be loaded',
    path: '/login',
    enter: async (page) => {
      await page.route('**/v5/schema', (route) => route.fulfill({ status: 500, json: failure }))
      await page.goto('/contacts')
      return page.getByRole('button', { name: 'Try again' })
    },
  },
  { name: 'an unknown page', path: '/nothing/at/all', enter: (page) => page.locator('h1') },
  {
    name: 'a list without a match',
    path: '/contacts?query=nobody+at+all',
    enter: (page) => page.getByRole('button', { name: 'Clear filters' }),
  },
  {
    name: 'a list of deleted records without any',
    path: '/campaigns?deleted=true',
    enter: (page) => page.getByText('Nothing was deleted'),
  },
  {
    name: 'a list without records',
    path: '/',
    enter: async (page) => {
      await page.route(/\/v5\/campaigns/, (route) =>
        route.fulfill({ json: /count/.test(route.request().url()) ? { count: 0 } : [] }),
      )
      await page.goto('/campaigns')
      return page.getByText('No campaigns yet')
    },
  },
]

const group = { or: [{ countryCode: { equals: 'DE' } }, { tasks: { none: { done: { equals: false } } } }] }

const failure = { code: 'internal_error', status: 500, message: 'Internal error', description: 'Try again later.' }

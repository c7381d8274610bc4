import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { inFocus, typeAtOnce } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, callAs } = useApplication()

let page: Page
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/contacts' })
  for (let open = await page.getByRole('dialog').count(); open > 0; open--) await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  // A dialog returns the focus a few frames after it is removed.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
})

const palette = () => page.getByRole('dialog', { name: 'Commands and search' })
const selected = () => palette().getByRole('option', { selected: true })
/** The first result that is a contact with this name. */
const record = (name: string) =>
  palette()
    .getByRole('option', { name: `${name} contact` })
    .first()
const focused = () => page.locator(':focus')
const openPalette = async () => {
  await page.keyboard.press('Control+k')
  await inFocus(palette().getByRole('combobox'))
}

browserTest('Ctrl+K opens the palette, its first hit is selected, and Escape returns the focus', async () => {
  const search = page.getByRole('searchbox', { name: 'Search contacts' })
  await search.focus()
  await openPalette()
  const first = palette().getByRole('option').first()
  await expect.poll(() => first.getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => first.getAttribute('aria-selected')).toBe('false')
  await page.keyboard.press('Escape')
  await palette().waitFor({ state: 'detached' })
  await expect.poll(() => search.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true)
})

browserTest('Enter runs the selected command of the palette', async () => {
  await openPalette()
  await page.keyboard.type('go to companies')
  await expect.poll(() => selected().innerText()).toContain('Go to Companies')
  expect(await selected().innerText()).toMatch(/G\s*C|g\s*\w/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Companies' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
})

browserTest(
  'the palette finds records with one request per resource, and offers to create what it does not find',
  async () => {
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (searchParams.get('query')?.startsWith('Zoë Lovelace')) asked.push(pathname)
    })
    await openPalette()
    await page.keyboard.insertText('Zoë Lovelace')
    await record('Zoë Lovelace').waitFor()
    expect(asked).toHaveLength(new Set(asked).size)
    expect(asked).toContain('/v5/contacts')
    await palette().getByRole('combobox').fill('Zoë Lovelace of nowhere')
    const offer = palette().getByRole('option', { name: 'Create contact “Zoë Lovelace of nowhere”' })
    await offer.waitFor()
    await record('Zoë Lovelace').waitFor({ state: 'detached' })
    await offer.click()
    const dialog = page.getByRole('dialog', { name: 'New contact' })
    await expect.poll(() => dialog.getByRole('textbox', { name: /^Name/ }).inputValue()).toBe('Zoë Lovelace of nowhere')
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
  },
)

browserTest('Enter in the palette opens the record that is selected', async () => {
  await openPalette()
  await page.keyboard.insertText('Yuki Turing')
  await record('Yuki Turing').waitFor()
  // Until the last response arrives, Enter would wait for it.
  await palette().locator('[role=listbox][aria-busy=false]').waitFor()
  await expect.poll(() => selected().innerText()).toMatch(/Yuki Turing\s+contact/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Yuki Turing' }).waitFor()
  await page.goBack()
  await new Grid(page).settle()
})

browserTest('“?” lists the keys of the page, and sequences such as “g c” lead to the other pages', async () => {
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.getByRole('list', { name: 'On this page' }).getByText('New contact').waitFor()
  await help.getByRole('list', { name: 'Everywhere' }).getByText('Go to Companies').waitFor()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  for (const [key, title] of [
    ['o', 'Companies'],
    ['c', 'Contacts'],
  ] as const) {
    await typeAtOnce(page, `g${key}`)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
  }
  // The page has its own keys once it is there.
  await new Grid(page).settle()
  await page.keyboard.press('c')
  await page.getByRole('dialog', { name: 'New contact' }).locator(':focus').waitFor()
  await page.keyboard.press('Escape')
})

browserTest('keys typed in a field are text, not shortcuts', async () => {
  const search = page.getByRole('searchbox', { name: 'Search contacts' })
  await search.focus()
  await page.keyboard.type('g c?n', { delay: 1 })
  expect(await search.inputValue()).toBe('g c?n')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await search.fill('')
  await expect.poll(() => new URL(page.url()).search).toBe('')
})

browserTest('a viewer has neither the shortcut nor the button to create, and cannot edit', async () => {
  const viewer = await openPage({ as: 'viewer', path: '/contacts' })
  const grid = new Grid(viewer)
  await grid.settle()
  expect(await viewer.getByRole('button', { name: 'New contact' }).count()).toBe(0)
  await viewer.keyboard.press('c')
  await grid.box.focus()
  await grid.press('ArrowDown', 'ArrowRight', 'ArrowRight', 'F', 'x')
  expect(await viewer.getByRole('dialog').count()).toBe(0)
  expect(await grid.box.getByRole('textbox').count()).toBe(0)
  const actions = viewer.getByRole('region', { name: 'Actions for the selection' }).getByRole('button')
  await actions.first().waitFor()
  await expect.poll(() => actions.allInnerTexts()).toEqual([''])
  const call = await callAs('viewer')
  expect((await call('POST', '/v5/contacts', { body: { name: 'Nobody' } })).status).toBe(403)
})

browserTest('the focused element is visible in the sidebar, and the first Tab offers to skip it', async () => {
  await page.reload()
  await new Grid(page).settle()
  await page.keyboard.press('Tab')
  await expect.poll(() => focused().innerText()).toBe('Skip to content')
  await expect.poll(() => focused().evaluate((link) => link.getBoundingClientRect().top)).toBeGreaterThanOrEqual(0)
  await page.keyboard.press('Enter')
  await expect.poll(() => focused().getAttribute('id')).toBe('main')
})

browserTest('the menu of the person opens the guides in a new tab, in both languages', async () => {
  for (const [locale, label] of [
    ['en', 'Guides'],
    ['de', 'Anleitungen'],
  ] as const) {
    const home = await openPage({ organization: 'small', locale })
    await home.getByRole('button', { name: 'Ada Lovelace', exact: true }).first().click()
    const opened = home.waitForEvent('popup')
    await home.getByRole('menuitem', { name: label }).click()
    const guides = await opened
    await guides.getByRole('heading', { name: 'Guides', level: 1 }).waitFor()
    expect(new URL(guides.url()).pathname).toBe('/docs')
    await guides.getByRole('link', { name: 'API versions' }).click()
    await guides.getByRole('heading', { name: 'API versions', level: 1 }).waitFor()
    await home.getByRole('menuitem', { name: label }).waitFor({ state: 'detached' })
  }
})

import type { Locator, Page } from 'playwright-core'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import { addSampleWebhook } from './sample-webhook.ts'
import { addRows, type SampleRow } from '../../server/test/import-rows.ts'
import type { Call, Json, TestService } from '../../server/test/service.ts'
import { addDeals } from './sample-deals.ts'
import { addEntries } from './sample-inbox.ts'
import { demoDay, type OrganizationName, type Role } from './seeded-database.ts'

/** A page of the application with records of the small organization. */
export interface Screen {
  /** Also the name of its pictures. */
  name: string
  /** A path of the router; for settings, with the section. */
  route: string
  /** The URL with values for the `$…` of the route. Default: the route. */
  path?: (records: Records) => string
  /** Default: the owner. */
  as?: Role | null
  /** Default: `small`. */
  organization?: OrganizationName
  /** An element that is there as soon as the page is complete. */
  shows: (page: Page) => Locator
}

/** Ids of records that have everything that their pages can show. */
export interface Records {
  contact: string
  company: string
  campaign: string
  deal: string
  pipeline: string
  import: string
  /** A shared view of contacts. */
  view: string
  /** An invalid link. */
  row: string
  webhook: string
  /** A delivery of the webhook that waits. */
  delivery: string
}

const heading = (name: string) => (page: Page) => page.getByRole('heading', { level: 1, name, exact: true })
const text = (content: string | RegExp) => (page: Page) => page.getByRole('main').getByText(content).first()
/** Matches the page's list, to which other tests may have added, or its empty state. */
const listOr = (empty: string) => (page: Page) =>
  page.getByRole('main').getByRole('listitem').or(page.getByText(empty)).first()

/** All pages: web/test/axe.test.ts compares them with the routes and the sections of the settings. */
export const screens: readonly Screen[] = [
  { name: 'login', route: '/login', as: null, shows: heading('Log in to Rapport') },
  { name: 'forgot-password', route: '/forgot-password', as: null, shows: (page) => page.getByRole('textbox') },
  { name: 'sign-up', route: '/sign-up', as: null, shows: (page) => page.locator('h1') },
  { name: 'single-sign-on', route: '/single-sign-on', as: null, shows: (page) => page.getByRole('textbox') },
  {
    name: 'account-link',
    route: '/account',
    path: () => '/account#invitation=inv_unknown',
    as: null,
    shows: (page) => page.getByRole('link', { name: 'Log in' }),
  },
  { name: 'logout', route: '/logout', shows: (page) => page.getByRole('button') },
  { name: 'no-organization', route: '/no-organization', shows: text('Harbour Trading') },
  { name: 'home', route: '/', shows: (page) => page.getByRole('main').locator('svg[role=group]').nth(2) },
  { name: 'inbox', route: '/inbox', shows: (page) => page.getByRole('main').getByRole('listitem').first() },
  { name: 'inbox-settings', route: '/inbox/settings', shows: (page) => page.getByRole('checkbox').nth(20) },
  {
    name: 'suggestions',
    route: '/suggestions',
    shows: (page) => page.getByRole('list', { name: 'Suggestions' }).getByRole('listitem').first(),
  },
  { name: 'profile', route: '/profile', shows: text('Sessions') },
  { name: 'imports', route: '/imports', shows: (page) => page.getByRole('table') },
  {
    name: 'import',
    route: '/imports/$importId',
    path: (records) => `/imports/${records.import}`,
    shows: (page) => page.getByRole('link', { name: /^Invalid/ }).first(),
  },
  { name: 'contacts', route: '/$resource', path: () => '/contacts', shows: (page) => page.getByRole('row').nth(3) },
  { name: 'companies', route: '/$resource', path: () => '/companies', shows: (page) => page.getByRole('row').nth(3) },
  {
    name: 'view',
    route: '/$resource',
    path: ({ view }) => `/contacts?view=${view}`,
    shows: (page) => page.getByRole('row').nth(3),
  },
  {
    name: 'deals',
    route: '/$resource',
    path: () => '/deals?view=table',
    shows: (page) => page.getByRole('row').nth(3),
  },
  {
    name: 'deals-board',
    route: '/$resource',
    path: () => '/deals?view=board',
    shows: (page) => page.getByRole('listitem').filter({ hasText: 'Annual licence' }).first(),
  },
  { name: 'tasks', route: '/$resource', path: () => '/tasks', shows: (page) => page.getByRole('row').nth(3) },
  { name: 'campaigns', route: '/$resource', path: () => '/campaigns', shows: (page) => page.getByRole('row').nth(1) },
  {
    name: 'contact',
    route: '/$resource/$recordId',
    path: ({ contact }) => `/contacts/${contact}`,
    shows: (page) => page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').first(),
  },
  {
    name: 'company',
    route: '/$resource/$recordId',
    path: ({ company }) => `/companies/${company}`,
    shows: (page) => page.getByText(/^Show all/).first(),
  },
  {
    name: 'campaign',
    route: '/$resource/$recordId',
    path: ({ campaign }) => `/campaigns/${campaign}`,
    shows: (page) => page.getByRole('complementary', { name: 'Properties' }),
  },
  {
    name: 'deal',
    route: '/$resource/$recordId',
    path: ({ deal }) => `/deals/${deal}`,
    shows: (page) => page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').first(),
  },
  { name: 'settings', route: '/settings', shows: heading('Organization') },
  { name: 'organization', route: '/settings/organization', shows: heading('Organization') },
  { name: 'members', route: '/settings/members', shows: text('ada@example.com') },
  { name: 'invitations', route: '/settings/invitations', shows: listOr('No open invitations.') },
  { name: 'teams', route: '/settings/teams', shows: text('Default') },
  { name: 'roles', route: '/settings/roles', shows: text('Manages people, settings and API keys.') },
  {
    name: 'role',
    route: '/settings/roles',
    path: () => '/settings/roles?new=true',
    shows: (page) => page.getByRole('combobox', { name: 'Deals' }),
  },
  { name: 'pipelines', route: '/settings/pipelines', shows: text('Sales') },
  {
    name: 'pipeline',
    route: '/settings/pipelines',
    path: ({ pipeline }) => `/settings/pipelines?pipeline=${pipeline}`,
    shows: text('Negotiation'),
  },
  { name: 'next-actions', route: '/settings/next-actions', shows: (page) => page.getByRole('row').nth(1) },
  { name: 'properties', route: '/settings/properties', shows: text('Properties without a definition') },
  { name: 'api-keys', route: '/settings/api-keys', shows: text('Active keys') },
  { name: 'webhooks', route: '/settings/webhooks', shows: text('Data warehouse') },
  {
    name: 'webhook-form',
    route: '/settings/webhooks',
    path: () => '/settings/webhooks?new=true',
    shows: (page) => page.getByRole('checkbox', { name: /^All events/ }),
  },
  {
    name: 'webhook-edit',
    route: '/settings/webhooks',
    path: ({ webhook }) => `/settings/webhooks?webhook=${webhook}&edit=true`,
    shows: (page) => page.getByRole('checkbox', { name: /^All events/ }),
  },
  {
    name: 'webhook',
    route: '/settings/webhooks',
    path: ({ webhook }) => `/settings/webhooks?webhook=${webhook}`,
    shows: (page) => page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem').nth(3),
  },
  {
    name: 'webhook-delivery',
    route: '/settings/webhooks',
    path: ({ webhook, delivery }) => `/settings/webhooks?webhook=${webhook}&delivery=${delivery}`,
    shows: (page) => page.getByRole('list', { name: 'Attempts' }).getByRole('listitem').first(),
  },
  { name: 'sso-connections', route: '/settings/single-sign-on', shows: text('No connections yet.') },
  {
    name: 'audit-log',
    route: '/settings/audit-log',
    shows: (page) => page.getByRole('list', { name: 'Events' }).getByRole('listitem').first(),
  },
  { name: 'outbox', route: '/settings/outbox', shows: listOr('Every mail was sent.') },
  { name: 'system', route: '/settings/system', organization: 'large', shows: text('Passed checks') },
]

/** The time in all pictures; the last contacts were created on this day. */
export const now = `${demoDay}T09:41:00.000Z`
const dayAfterDemo = new Date(Date.parse(demoDay) + 86_400_000).toISOString()
const daysAgo = (days: number, time: string) =>
  new Date(Date.parse(`${demoDay}T${time}:00.000Z`) - days * 86_400_000).toISOString()

/** Finds the records by their indexes, and adds what the demo data lacks: campaigns and import rows. */
export async function prepareRecords(service: TestService, call: Call): Promise<Records> {
  const listed = async (path: string): Promise<Json[]> => {
    const { status, body, text } = await call('GET', path)
    if (status !== 200) throw new Error(`${path} was refused: ${text}`)
    return body
  }
  const [first] = await listed('/v5/imports?limit=1&orderBy=createdAt&sort=asc')
  const campaigns = await listed('/v5/campaigns')
  if (campaigns.length === 0) {
    for (const resource of ['companies', 'contacts']) await deleteForeignNames(call, resource)
    for (const [index, body] of drafts.entries()) campaigns.push(await addCampaign(service, call, body, index))
    await call('PATCH', `/v5/imports/${first.id}`, { body: { name: 'Website form' } })
    await call('POST', '/v5/imports', { body: { name: 'Trade fair badges' } })
    await addDeals(service, call)
    for (const body of sampleViews) await call('POST', '/v5/views', { body: { resource: 'contacts', ...body } })
    await addRows(service, first.id, rowsFor(await listed('/v5/contacts?orderBy=createdAt&sort=desc&limit=60')))
  }
  await addSampleEntries(service, call, listed)
  const [company] = await listed('/v5/companies?orderBy=employeesCount&sort=desc&limit=1')
  const contact = await contactWithHistory(listed)
  return {
    contact,
    company: company.id,
    campaign: campaigns.at(-1).id,
    deal: (await listed('/v5/deals?name=Expansion%20EMEA'))[0].id,
    pipeline: (await listed('/v5/pipelines?orderBy=createdAt&sort=asc&limit=1'))[0].id,
    import: first.id,
    view: (await listed('/v5/views?resource=contacts&orderBy=position&sort=asc'))[0].id,
    row: (await listed(`/v5/imports/${first.id}/rows?filter.status.equals=INVALID&limit=1`))[0].id,
    ...(await addSampleWebhook(service, call)),
  }
}

/** Most test machines have no fonts for scripts that the application's own font lacks. */
async function deleteForeignNames(call: Call, resource: string): Promise<void> {
  const records: Json[] = []
  for (let after = ''; ;) {
    const { status, body } = await call('GET', `/v5/${resource}?limit=100${after}`)
    if (status !== 200) throw new Error(`The list of ${resource} was refused: ${JSON.stringify(body)}`)
    records.push(...body)
    if (body.length < 100) break
    after = `&startingAfter=${body.at(-1).id}`
  }
  for (const { id, ...record } of records) {
    const texts = [record.name, record.location, record.company?.name].join('')
    if (/[^ -\u04ff\u2000-\u206f]/.test(texts)) await call('DELETE', `/v5/${resource}/${id}`)
  }
}

/** A contact with a note, a company and a job. Other tests of the organization may have added many notes today. */
async function contactWithHistory(listed: (path: string) => Promise<Json[]>): Promise<string> {
  const notes = await listed(`/v5/notes?limit=100&orderBy=createdAt&sort=desc&filter.createdAt.lt=${dayAfterDemo}`)
  const ids = [...new Set(notes.flatMap(({ contactId }) => contactId ?? []))]
  const contacts = await listed(`/v5/contacts?limit=100&orderBy=id&sort=desc&filter.id.in=${ids.join(',')}`)
  const found = contacts.find(({ company, email, employmentTitle }) => company && email && employmentTitle)
  if (!found) throw new Error('No contact has a note, a company and a job.')
  return found.id
}

/** One entry of each kind that the records allow, unless other tests have added them. */
async function addSampleEntries(service: TestService, call: Call, listed: (path: string) => Promise<Json[]>) {
  if ((await listed('/v5/inbox?limit=1')).length > 0) return
  const first = async (name: string): Promise<string> => (await listed(`/v5/${name}?limit=1`))[0].id
  const [contact, deal] = [await first('contacts'), await first('deals')]
  const [task, imported] = [await first('tasks'), await first('imports')]
  const members = await listed('/v5/members')
  const grace = members.find(({ person }) => person.name === 'Grace Hopper').id
  const unknown = `con_${'0'.repeat(32)}`
  await addEntries(service, call, [
    { kind: 'taskDue', resource: 'tasks', recordId: task, createdAt: daysAgo(0, '08:00') },
    { kind: 'assigned', resource: 'deals', recordId: deal, authorId: grace, createdAt: daysAgo(1, '15:12') },
    { kind: 'assigned', resource: 'contacts', recordId: contact, createdAt: daysAgo(1, '11:40'), read: true },
    { kind: 'importFailed', resource: 'imports', recordId: imported, createdAt: daysAgo(1, '09:05'), read: true },
    { kind: 'assigned', resource: 'contacts', recordId: unknown, authorId: grace, createdAt: daysAgo(4, '10:00') },
  ])
}

const sampleViews = [
  {
    name: 'To call back',
    isShared: true,
    filter: {
      or: [{ status: { equals: 'lead' } }, { deals: { some: { amount: { gt: 10_000 }, status: { equals: 'open' } } } }],
      tasks: { none: { done: { equals: false } } },
    },
  },
  { name: 'My newsletter', filter: { tags: { has: 'newsletter' } } },
]

const drafts = [
  { name: 'Spring collection preview', subject: 'A first look, for friends of the atelier', tags: ['customer', 'vip'] },
  { name: 'Welcome', subject: 'Thank you for joining us', kind: 'sequence', tags: ['lead'] },
  { name: 'Opening hours in December', subject: 'When you find us between the years', tags: ['customer'] },
]

async function addCampaign(service: TestService, call: Call, draft: object, index: number): Promise<Json> {
  const { status, body } = await call('POST', '/v5/campaigns', { body: draft })
  if (status !== 201) throw new Error(`The campaign was refused: ${JSON.stringify(body)}`)
  const time = daysAgo(index * 3 + 1, '08:30')
  await service.database.crossTenantQuery(
    'check the database',
    sql`update campaigns set created_at = ${time}::timestamptz, updated_at = ${time}::timestamptz
      where id = ${decodeId('cam', body.id)}::uuid`,
  )
  return body
}

/** Days before today, unevenly distributed. */
const rowDays = [
  0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 7, 7, 7, 8, 8, 9, 10, 10, 11, 14, 14, 14, 15, 16, 17, 17, 21, 22, 22, 25,
]

/** One row of each kind, among many successful ones in the last weeks. */
function rowsFor(contacts: readonly Json[]): SampleRow[] {
  return contacts
    .map(({ id, email, name, employmentTitle }, index): SampleRow => {
      const payload = { contact: { email, name }, employment: { title: employmentTitle } }
      const createdAt = daysAgo(rowDays[index % rowDays.length] ?? 0, `0${index % 8}:${10 + ((index * 17) % 50)}`)
      const row = { status: 'PROCESSED' as const, payload, contactId: id, createdAt }
      if (index % 9 === 4) return { ...row, warnings: [warning], warningCodes: [warning.code] }
      if (index % 13 === 2) {
        const { contactId: _, ...failed } = { ...row, status: 'INVALID' as const }
        return { ...failed, payload: { contact: { name } }, errors: [error], errorCodes: [error.code] }
      }
      return row
    })
    .toReversed()
}

const warning = {
  code: 'unusable_value',
  path: 'contact.timeZone',
  message: 'expected an IANA time zone, such as "Europe/Berlin"',
  hint: 'The value was left out; the rest was stored. Correct it in the source and push again.',
}
const error = {
  code: 'invalid_payload',
  path: 'contact',
  message: 'expected an email address, a phone number or an external id',
  hint: 'Correct the payload and retry the row.',
}

/** Changes the theme like the system would, and waits until it is painted. */
export async function useTheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

/** Opens the screen in this page, whose person must match the screen's. */
export async function show(page: Page, screen: Screen, records: Records): Promise<void> {
  // Changing only the fragment would not load the page.
  if (screen.path?.(records).includes('#')) await page.goto('about:blank')
  await page.goto(screen.path?.(records) ?? screen.route)
  await screen.shows(page).waitFor()
}

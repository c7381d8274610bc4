import { allPages } from '../../server/test/all-pages.ts'
import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { copiedBy } from './gestures.ts'
import { fetchServed } from './pushes.ts'
import { resize } from './squeezed.ts'

const { openPage, callAs, service, expectErrors } = useApplication()

let owners: Page
beforeEach(async () => {
  owners ??= await openPage({ stays: true, organization: 'small', path: '/forgot-password' })
})

/** Opens the settings of the small organization as its owner. */
async function open(section: string): Promise<Page> {
  await owners.goto(`/settings/${section}`)
  await owners.locator('h1').first().waitFor()
  return owners
}
const onPhone = { organization: 'small', width: 390 } as const

browserTest('a new key is shown once, with a curl command that works', async () => {
  const page = await open('api-keys?new=true')
  await page.getByRole('textbox', { name: 'Name' }).fill('Warehouse')
  await page.getByRole('button', { name: 'Read everything', exact: true }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('heading', { name: 'Copy the key Warehouse now' }).waitFor()
  const command = await copiedBy(page.getByRole('button', { name: 'Copy: Copy as curl' }))
  expect(await runCurl(command)).toBe(200)

  await page.reload()
  await page.getByRole('link', { name: 'Warehouse' }).waitFor()
  expect(await page.getByText('svc_').count()).toBe(0)

  await page.getByRole('button', { name: 'Actions for the key Warehouse' }).click()
  await page.getByRole('menuitem', { name: 'Revoke…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Revoke Warehouse?' })
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('list', { name: 'Revoked keys' }).getByText('Warehouse').waitFor()
  expect(await runCurl(command)).toBe(401)
})

browserTest('a second list on a page waits for the first one, which would push it down', async () => {
  const call = await callAs('owner', 'small')
  const { body: key } = await call('POST', '/v5/api-keys', { body: { name: 'Lost', scopes: ['contact:list:read'] } })
  expect((await call('POST', `/v5/api-keys/${key.id}/revoke`)).status).toBe(200)
  const page = owners
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(/v5\/api-keys\?.*revokedAt\.equals=null/, (route) => released.then(() => route.continue()))
  const revoked = page.waitForResponse(/v5\/api-keys\?.*revokedAt\.not=null/)
  await page.goto('/settings/api-keys')
  await revoked
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  expect(await page.getByRole('list', { name: 'Revoked keys' }).count()).toBe(0)
  release()
  await page.getByRole('list', { name: 'Revoked keys' }).getByText('Lost').waitFor()
  await page.unrouteAll()
})

/** Sends the request of a curl command; returns the status. */
async function runCurl(command: string): Promise<number> {
  const url = /'(http[^']+)'/.exec(command)?.[1] ?? ''
  const body = /-d '([^']+)'/.exec(command)?.[1]
  const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value])
  const init = { headers: Object.fromEntries(headers), ...(body !== undefined && { method: 'POST', body }) }
  return (await fetchServed(url, init)).status
}

browserTest('a key without a name is refused, and the preset for pushes creates one that can push', async () => {
  const page = await open('api-keys?new=true')
  expectErrors(page, /422/)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Name must not be empty').waitFor()
  await page.getByRole('button', { name: 'Push only' }).click()
  await page.getByText('2 chosen').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill('Forms')
  await page.locator('summary', { hasText: /^Contacts/ }).click()
  const sentence = page.getByRole('checkbox', { name: 'Create a contact' })
  expect(await sentence.isChecked()).toBe(true)
  expect(await page.getByRole('checkbox', { name: 'List contacts' }).isChecked()).toBe(false)
  await page.getByRole('button', { name: 'Create key' }).click()
  expect(await runCurl(await copiedBy(page.getByRole('button', { name: 'Copy: Copy as curl' })))).toBe(201)
})

browserTest('every list can be copied as a request, which an API key can send', async () => {
  const call = await callAs('owner', 'small')
  const scopes = (await allPages((path) => call('GET', path), '/v5/scopes')).filter(
    ({ action }: Json) => action === 'list',
  )
  const { body: key } = await call('POST', '/v5/api-keys', {
    body: { name: 'Lists', scopes: scopes.map(({ scope }: Json) => scope) },
  })
  const page = owners
  const send = async (path: string, button: Locator) => {
    const command = await copiedBy(button)
    expect(command).toContain('<API_KEY>')
    expect([path, await runCurl(command.replace('<API_KEY>', key.apiKey))]).toEqual([path, 200])
  }
  const sections = ['Members', 'Invitations', 'Teams', 'Roles', 'API keys', 'Single sign-on', 'Audit log', 'Outbox']
  const [{ id: importId }] = (await call('GET', '/v5/imports')).body
  const [{ id: teamId }] = (await call('GET', '/v5/teams')).body
  const buttons = page.getByRole('button', { name: 'Copy as API request' })
  const sendAll = async (name: string) => {
    await buttons.first().waitFor()
    for (const button of await buttons.all()) await send(name, button)
  }
  await page.goto('/settings/organization')
  for (const section of sections) {
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: section }).click()
    await page.getByRole('heading', { level: 1, name: section }).waitFor()
    await sendAll(section)
  }
  for (const path of [`/settings/teams?team=${teamId}`, '/imports', `/imports/${importId}`]) {
    await page.goto(path)
    await sendAll(path)
  }
  for (const path of ['/contacts?filter.name.contains=O%27Neill+%24%28id%29', '/companies', '/campaigns']) {
    await page.goto(path)
    await page.getByRole('button', { name: 'More actions' }).click()
    await send(path, page.getByRole('menuitem', { name: 'Copy as API request' }))
  }
})

browserTest('the last log-ins, which load after the members, move nothing on a phone', async () => {
  const page = await openPage({ ...onPhone, path: '/forgot-password' })
  let answer = (): void => undefined
  const mayAnswer = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/v5/audit-log**', async (route) => {
    await mayAnswer
    await route.continue()
  })
  await page.goto('/settings/members')
  const last = page.getByRole('list', { name: 'Members' }).getByRole('listitem').last()
  await last.waitFor()
  const before = await last.boundingBox()
  answer()
  await page
    .getByText(/Last login|No login recorded/)
    .first()
    .waitFor()
  expect(await last.boundingBox()).toEqual(before)
})

browserTest('the last owner cannot become a member, and the service says why', async () => {
  const page = await open('members')
  expectErrors(page, /423/)
  await page.getByRole('button', { name: 'Owner: change the role of Ada Lovelace' }).click()
  await page.getByRole('menuitem', { name: 'Member' }).click()
  await page.getByText('This is the last owner of the organization.').waitFor()
  await page.getByRole('button', { name: 'Owner: change the role of Ada Lovelace' }).waitFor()
})

browserTest('without a mail server, an owner of the first organization copies the link of an invitation', async () => {
  const page = await openPage({ path: '/settings/invitations?new=true', organization: 'large' })
  await page.getByLabel('Email address').fill('kay@example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('button', { name: 'Show the link' }).click()
  const link = await page.getByText('#invitation=').textContent()
  const token = decodeURIComponent(link?.split('#invitation=')[1] ?? '')
  const preview = await service().anonymous('POST', '/auth/invitations/preview', { body: { token } })
  expect(preview.body).toMatchObject({ email: 'kay@example.com', role: 'member' })

  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Actions for the invitation to kay@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Revoke…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The invitation to kay@example.com was revoked').waitFor()
})

browserTest(
  'without a mail server, an owner of another organization reads who has the link of an invitation',
  async () => {
    const page = await open('invitations?new=true')
    expectErrors(page, /403/)
    await page.getByLabel('Email address').fill('joan@example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('button', { name: 'Show the link' }).click()
    await page.getByText('Ask the operator of this service').waitFor()
    expect(await page.getByText('#invitation=').count()).toBe(0)
  },
)

browserTest('a team gets members, loses one, has that undone, and is deleted by name', async () => {
  const page = await open('teams')
  await page.getByRole('button', { name: 'New team' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Harbour')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { level: 1, name: 'Harbour' }).waitFor()
  await page.getByRole('button', { name: 'Add members' }).click()
  await page.getByRole('searchbox', { name: 'Search by name' }).fill('Alan')
  await page.getByRole('button', { name: 'Add Alan Turing' }).click()
  await page.getByRole('button', { name: 'Added: Alan Turing' }).waitFor()
  await page.keyboard.press('Escape')
  await page.reload()
  await page.getByRole('button', { name: 'Remove Alan Turing from the team' }).click()
  await page.getByText('Nobody is in this team yet.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Remove Alan Turing from the team' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete the team Harbour?' })
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Teams' }).waitFor()
  await page.getByRole('link', { name: 'Harbour' }).waitFor({ state: 'detached' })
})

browserTest('the filters of the audit log and the open event survive a reload and Back', async () => {
  const call = await callAs('owner', 'small')
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Audited' } })
  await call('DELETE', `/v5/teams/${team.id}`)
  const page = await open('audit-log')
  const events = page.getByRole('list', { name: 'Events' })
  await page.getByLabel('Action').selectOption({ label: 'A team was created' })
  await events
    .getByRole('button', { name: /^A team was created/ })
    .first()
    .click()
  await page.getByRole('link', { name: team.id }).waitFor()
  await page.reload()
  await page.getByRole('link', { name: team.id }).click()
  await events.getByText('A team was deleted').waitFor()
  await expect.poll(() => events.getByRole('listitem').count()).toBe(2)
  await page.goBack()
  await events.getByText('A team was deleted').waitFor({ state: 'detached' })
  await expect.poll(() => page.getByLabel('Action').inputValue()).toBe('team.created')
})

browserTest('a long audit log continues with the next page', async () => {
  const call = await callAs('owner', 'small')
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Often renamed' } })
  for (let index = 1; index <= 51; index++) await call('PATCH', `/v5/teams/${team.id}`, { body: { name: `${index}` } })
  const page = await open(`audit-log?filter.recordId.equals=${team.id}`)
  const events = page.getByRole('list', { name: 'Events' }).getByRole('listitem')
  await page.getByRole('button', { name: 'Load more' }).click()
  await events.filter({ hasText: 'A team was created' }).waitFor()
  await expect.poll(() => events.count()).toBe(52)
})

browserTest('a person sees the sections that their role can use', async () => {
  const page = await openPage({ organization: 'small', as: 'viewer', path: '/settings/members' })
  const list = page.getByRole('navigation', { name: 'Settings' })
  await expect
    .poll(() => list.getByRole('link').allTextContents())
    .toEqual(['Organization', 'Members', 'Teams', 'Roles', 'Properties'])
  expect(await page.getByRole('button', { name: /change the role/ }).count()).toBe(0)
  await page.goto('/settings/api-keys')
  await page.getByRole('heading', { name: 'You cannot see this' }).waitFor()
})

browserTest('on a phone, the list of sections links to each section and back', async () => {
  const page = await openPage({ ...onPhone, path: '/settings' })
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
  await page.getByRole('link', { name: 'Settings' }).first().click()
  await page.getByRole('link', { name: 'Audit log' }).waitFor()
})

browserTest('on a phone, no section is wider than the screen', async () => {
  const page = await openPage({ path: '/settings' })
  const links = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
  await links.first().waitFor()
  const titles = await links.allTextContents()
  expect(titles).toHaveLength(14)
  for (const title of titles) {
    await links.filter({ hasText: title }).click()
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    await page.getByRole('main').getByRole('heading', { level: 2 }).first().waitFor()
    await resize(page, 390)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: title }).toBe(390)
    await resize(page, 1440)
  }
})

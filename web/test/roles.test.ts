import type { Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { typeAtOnce } from './gestures.ts'
import { people } from './seeded-database.ts'

const { openPage, callAs, expectErrors } = useApplication()

const { name: personName, email } = people.member
const open = (path: string, as: 'owner' | 'member' = 'owner'): Promise<Page> =>
  openPage({ organization: 'small', path, as })

async function setRole(call: Call, body: object): Promise<string> {
  const [member] = (await call('GET', `/v5/members?filter.person.email.equals=${email}`)).body
  const changed = await call('PATCH', `/v5/members/${member.id}`, { body })
  expect(changed.status, changed.text).toBe(200)
  return member.id
}

afterAll(async () => {
  // Other files share the database.
  const call = await callAs('owner', 'small')
  await setRole(call, { role: 'member' })
})

browserTest('an owner defines a role, assigns it to a member, and cannot delete it while it is in use', async () => {
  const page = await open('/settings/roles')
  await page.getByText('No roles yet, besides the built-in ones.').waitFor()
  await page.getByRole('button', { name: 'New role' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Field sales')
  const contacts = page.getByRole('combobox', { name: 'Contacts' })
  await contacts.selectOption({ label: 'Those of their teams' })
  await page.getByText('Contacts in their teams, and their own.').waitFor()
  // With the keyboard: the next letter chooses an option.
  await contacts.focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await typeAtOnce(page, 'Their own')
  await page.getByText('Records that they own.').waitFor()
  await page.getByRole('button', { name: 'Like Viewer' }).click()
  await page.getByRole('button', { name: 'New role' }).click()
  const row = page.getByRole('listitem').filter({ hasText: 'Field sales' })
  await row.getByText('Contacts: of their teams, Deals: their own').waitFor()
  const call = await callAs('owner', 'small')
  const [role] = (await call('GET', '/v5/roles')).body
  expect(role.reach).toEqual({ contact: 'team', company: 'all', deal: 'own', task: 'all', campaign: 'all' })
  expect(role.scopes).toContain('urn:service:contact:*:read')

  await row.getByRole('link', { name: 'Field sales' }).click()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('People with this role cannot use the application yet').waitFor()
  await page.getByRole('button', { name: 'Add these permissions' }).click()
  await page.getByText('3 chosen').waitFor()
  await page.getByRole('textbox', { name: 'Description' }).fill('Visits customers')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Visits customers').waitFor()

  await page.goto('/settings/members')
  await page.getByRole('button', { name: `Member: change the role of ${personName}` }).click()
  await page.getByRole('menuitem', { name: 'Field sales' }).click()
  await page.getByText(`${personName} is now: Field sales`).waitFor()
  await page.getByRole('button', { name: `Field sales: change the role of ${personName}` }).waitFor()
  await page.goto('/settings/invitations?new=true')
  const choices = page.getByRole('dialog').getByRole('combobox', { name: 'Role' })
  await choices.selectOption({ label: 'Field sales' })

  await page.goto('/settings/roles')
  await page.getByRole('button', { name: 'Delete the role Field sales' }).click()
  const inUse = page.getByRole('dialog', { name: 'Field sales is in use' })
  await inUse.getByRole('listitem').filter({ hasText: personName }).waitFor()
  await page.keyboard.press('Escape')
  await setRole(call, { role: 'member' })
  await page.getByRole('button', { name: 'Delete the role Field sales' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete the role Field sales?' })
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No roles yet, besides the built-in ones.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('link', { name: 'Field sales' }).waitFor()
})

browserTest('every page works for somebody who sees only their own records', async () => {
  const owner = await callAs('owner', 'small')
  const builtIn = (await owner('GET', '/v5/roles/built-in')).body
  const scopes = builtIn.find(({ role }: Json) => role === 'member').scopes
  const reach = { contact: 'own', company: 'own', deal: 'own', task: 'own', campaign: 'own' }
  const made = await owner('POST', '/v5/roles', { body: { name: 'Own records', scopes, reach } })
  expect(made.status, made.text).toBe(201)
  const ownerId = await setRole(owner, { roleId: made.body.id })
  const created = async (path: string, body: object) => (await owner('POST', path, { body })).body
  // Names that no page has for another reason, whatever other files have created.
  const company = await created('/v5/companies', { name: 'Hidden Observatory' })
  const hiddenContact = await created('/v5/contacts', { name: 'Hidden Astronomer' })
  const contact = await created('/v5/contacts', { name: 'Mary Somerville', ownerId, companyId: company.id })
  await owner('PATCH', `/v5/contacts/${contact.id}`, { body: { companyId: null } })
  await owner('PATCH', `/v5/contacts/${contact.id}`, { body: { companyId: company.id } })
  const deal = await created('/v5/deals', { name: 'Telescopes', ownerId, companyId: company.id, amount: '900' })
  await created(`/v5/deals/${deal.id}/contacts`, { contactId: hiddenContact.id, role: 'champion' })
  await created(`/v5/deals/${deal.id}/contacts`, { contactId: contact.id })
  await created('/v5/tasks', {
    title: 'Call Mary',
    dueDate: '2020-01-31',
    assigneeId: ownerId,
    contactId: contact.id,
  })

  const page = await open('/', 'member')
  await page.getByText('Call Mary').first().waitFor()
  for (const [path, shown] of [
    ['/contacts', 'Mary Somerville'],
    ['/deals?view=table', 'Telescopes'],
    ['/deals?view=board', 'Telescopes'],
    ['/tasks', 'Call Mary'],
    [`/contacts/${contact.id}`, 'Mary Somerville'],
    [`/deals/${deal.id}`, 'Telescopes'],
    ['/companies', /No companies/],
    ['/campaigns', /No campaigns/],
  ] as const) {
    await page.goto(path)
    await page.getByRole('main').getByText(shown).first().waitFor()
    expect(await page.getByText(company.name).count(), path).toBe(0)
    expect(await page.getByText(hiddenContact.name).count(), path).toBe(0)
  }
  expectErrors(page, /404/)
  await page.goto(`/contacts/${hiddenContact.id}`)
  await page.getByText('This record is not there').waitFor()
})

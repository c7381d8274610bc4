import { browserTest, useApplication } from './application.ts'
import { organizations } from './seeded-database.ts'

const { openPage, expectErrors } = useApplication({ isAlone: true })
const name = organizations.small

browserTest(
  'an owner deletes the organization by typing its name, and can undo that later; others can do neither',
  async () => {
    const [page, member] = [
      await openPage({ organization: 'small', path: '/settings/organization' }),
      await openPage({ organization: 'small', as: 'member', path: '/settings/organization' }),
    ]
    for (const one of [page, member]) expectErrors(one, /status of (?:403|422)/)
    if ((await member.getByText(`Delete ${name}`).count()) > 0) throw new Error('a member is offered the deletion')
    const row = page.getByRole('listitem').filter({ hasText: `Delete ${name}` })
    await row.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog', { name: `Delete ${name}?` })
    await dialog.getByRole('textbox').fill(name.toLowerCase())
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText(`This is not its name: ${name}`).waitFor()
    await dialog.getByRole('textbox').fill(name)
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText(`${name} will be deleted on`).waitFor()
    await page.getByText('The organization that you last opened is being deleted.').waitFor()

    await member.goto('/contacts')
    await member.getByText('One of its owners can undo this.').waitFor()

    await page.getByRole('button', { name: `Keep ${name}` }).click()
    await page.getByRole('button', { name: `Open ${name}` }).click()
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Contacts' }).first().waitFor()
  },
)

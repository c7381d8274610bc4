import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess, owner } from '../../../test/access.ts'
import type { BootstrapAnswer } from '../../commands/bootstrap.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { CredentialChanged } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { emailKey } from '../../platform/resource/texts.ts'
import { profile } from './store.ts'

let access: Access
let first: BootstrapAnswer
let second: BootstrapAnswer

beforeAll(async () => {
  access = await openAccess()
  first = await access.newOrganization()
  second = await access.newOrganization()
})

afterAll(async () => {
  await access.close()
})

async function callerOf(credential: string, organization?: string): Promise<Caller> {
  return access.identifier.selectOrganization(
    await access.identifier.authenticate(`Bearer ${credential}`),
    organization,
  )
}

const read = async (caller: Caller): Promise<unknown> => JSON.parse(await profile(access.database, caller))

test("by token the profile shows the user with every organization, by key with the key's alone", async () => {
  const user = { id: first.userId, email: owner.email, name: 'Ada' }
  const [one, two] = [first, second].map(({ organizationId }, index) => ({
    id: organizationId,
    name: `Acme ${index + 1}`,
    role: 'owner',
  }))
  expect(await read(await callerOf(first.accessToken))).toEqual({ ...user, organizations: [one, two] })
  expect(await read(await callerOf(first.accessToken, second.organizationId))).toEqual({
    ...user,
    organizations: [one, two],
  })
  expect(await read(await callerOf(second.apiKey, second.organizationId))).toEqual({ ...user, organizations: [two] })
})

test('a profile is not shown to a credential that is no longer good', async () => {
  const caller = await callerOf(second.apiKey, second.organizationId)
  await access.database.spanning(
    'check the database',
    sql`update api_keys set revoked_at = now() where id = ${caller.credentialId}`,
  )
  await expect(profile(access.database, caller)).rejects.toBeInstanceOf(CredentialChanged)
})

test('one address in two spellings is one user', () => {
  expect(emailKey('Ada@EXAMPLE.com')).toBe('ada@example.com')
  expect(emailKey('ada@bücher.example')).toBe(emailKey('ADA@xn--bcher-kva.example'))
})

import { createHook } from 'node:async_hooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { logIn, newEmail, newOwner } from '../../../test/people.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** Operations of native add-ons, which have no type name: here, only the hashing of passwords. */
let startedOperations = 0
const hook = createHook({ init: (_, type) => void (type === 'undefined' && startedOperations++) })

/** The number of password hashes that a login with a wrong password computes. */
async function countHashes(email: string): Promise<number> {
  startedOperations = 0
  hook.enable()
  try {
    expect((await logIn(service, email, 'not the password at all')).status).toBe(401)
  } finally {
    hook.disable()
  }
  return startedOperations
}

// passwords.test.ts checks that both hashes take the same time.
test('a login compares exactly one password hash, whether or not the address has an account or a password', async () => {
  const [known, disabled, passwordless] = [await newOwner(service), await newOwner(service), await newOwner(service)]
  const execute = (statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery('check the database', statement)
  await execute(sql`update users set disabled_at = now() where id = ${decodeId('usr', disabled.userId)}::uuid`)
  await execute(sql`update users set password_hash = null where id = ${decodeId('usr', passwordless.userId)}::uuid`)
  expect({
    known: await countHashes(known.email),
    unknown: await countHashes(newEmail()),
    disabled: await countHashes(disabled.email),
    withoutPassword: await countHashes(passwordless.email),
  }).toEqual({ known: 1, unknown: 1, disabled: 1, withoutPassword: 1 })
})

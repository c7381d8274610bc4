import { Command } from 'commander'
import { recordPersonEvent } from '../identity/audit-log/store.ts'
import { findUserByEmail } from '../identity/users/store.ts'
import type { AuditAction } from '../platform/audit/store.ts'
import type { CrossTenantConnection, Database } from '../platform/database/database.ts'
import { encodeId } from '../platform/model/ids.ts'
import { configuration, Failure, printMessage, printResult } from './command.ts'
import { withRapport } from './open.ts'
import type { JsonObject } from '../platform/model/json.ts'

export interface PersonOptions {
  email: string
  json?: boolean
}

export interface Person {
  id: string
  email: string
}

/** A command about the person with an address. */
export const personCommand = (name: string, description: string) =>
  new Command(name)
    .description(description)
    .requiredOption('--email <address>', 'the person’s email address')
    .option('--json', 'print one JSON object')

/** Finds the person by the address. Error: `Failure`. */
export async function findPerson(database: Database, given: string): Promise<Person> {
  const email = given.trim()
  const user = await findUserByEmail(database, email)
  if (!user) throw new Failure(`There is no person with the address ${email}.`)
  return { id: user.id, email }
}

/** Finds the person, does slow preparation outside the transaction, then changes all or nothing. */
export async function change(
  { email, json }: PersonOptions,
  prepare: (person: Person) => Promise<(db: CrossTenantConnection) => Promise<string>>,
): Promise<void> {
  const options = { config: configuration(), purpose: 'rapport user', log: printMessage } as const
  const result = await withRapport(options, async ({ database }) => {
    const person = await findPerson(database, email)
    const work = await prepare(person)
    return {
      userId: encodeId('usr', person.id),
      message: await database.crossTenantTransaction('manage an account', work),
    }
  })
  printResult(json ? JSON.stringify({ userId: result.userId }) : result.message)
}

/** Records what the command did to the person, in the audit log of each of their organizations. */
export const record = (
  db: CrossTenantConnection,
  { id }: Person,
  action: AuditAction,
  details?: JsonObject,
): Promise<void> =>
  recordPersonEvent(db, id, {
    action,
    actorKind: 'command',
    actorId: null,
    recordType: 'user',
    recordId: encodeId('usr', id),
    details,
  })

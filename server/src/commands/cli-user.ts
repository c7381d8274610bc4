import { Command } from 'commander'
import { hashPassword, passwordFault } from '../identity/access/passwords.ts'
import type { AuditAction } from '../platform/audit/store.ts'
import { recordPersonEvent } from '../identity/audit-log/store.ts'
import type { Spanning } from '../platform/database/database.ts'
import { queueMail } from '../identity/mails/store.ts'
import { showId } from '../platform/model/ids.ts'
import { countKeysOf, endSessions, setDisabled, setPassword, withoutOwner } from '../identity/auth/store.ts'
import { findUserByEmail } from '../identity/users/store.ts'
import { answer, configuration, Failure, tell, withExample } from './command.ts'
import { withRapport } from './open.ts'
import { readPassword } from './password.ts'

interface Options {
  email: string
  password?: string
  passwordStdin?: boolean
  json?: boolean
}

interface Person {
  id: string
  email: string
}

/** `rapport user`: for whoever has the machine, when a person cannot help themselves. */
export const userCommand = () =>
  withExample(
    new Command('user')
      .description('Reset passwords, end sessions, and disable or enable people.')
      .addCommand(resetPasswordCommand())
      .addCommand(endSessionsCommand())
      .addCommand(disableCommand())
      .addCommand(enableCommand()),
    '$ rapport user reset-password --email ada@example.com\n$ rapport user disable --email ada@example.com',
  )

const aboutOne = (name: string, description: string) =>
  new Command(name)
    .description(description)
    .requiredOption('--email <address>', 'the person’s email address')
    .option('--json', 'print one JSON object')

const resetPasswordCommand = () =>
  withExample(
    aboutOne(
      'reset-password',
      'Set a new password for a person and end all their sessions. A second factor is still required.',
    )
      .option('--password <password>', 'the new password; RAPPORT_PASSWORD, --password-stdin and the prompt are safer')
      .option('--password-stdin', 'read the password from standard input')
      .action((options: Options) =>
        change(options, async (person) => {
          const password = await readPassword(options)
          const fault = await passwordFault(password, { email: person.email })
          if (fault !== undefined) throw new Failure(`The password is not acceptable: ${fault}.`)
          const hash = await hashPassword(password, 'command')
          return async (spanning) => {
            await setPassword(spanning, { userId: person.id, hash })
            await record(spanning, person, 'password.reset')
            const mail = { kind: 'account-changed', recipient: person.email, userId: person.id } as const
            await queueMail(spanning, { ...mail, facts: { what: 'password-changed' } })
            return `${person.email} has a new password; all their sessions have ended.`
          }
        }),
      ),
    '$ rapport user reset-password --email ada@example.com',
  )

const endSessionsCommand = () =>
  withExample(
    aboutOne('end-sessions', 'Log a person out everywhere.').action((options: Options) =>
      change(options, async (person) => async (spanning) => {
        const count = await endSessions(spanning, person.id)
        await record(spanning, person, 'session.ended')
        return `${count} sessions of ${person.email} have ended.`
      }),
    ),
    '$ rapport user end-sessions --email ada@example.com',
  )

const disableCommand = () =>
  withExample(
    aboutOne('disable', 'Disable a person: end their sessions and prevent further logins.').action((options: Options) =>
      change(options, async (person) => async (spanning) => {
        await setDisabled(spanning, person.id, true)
        await record(spanning, person, 'account.disabled')
        const keys = await countKeysOf(spanning, person.id)
        const rest =
          keys === 0 ? '' : ` They have created ${keys} API keys, which belong to the organization: revoke them there.`
        const left = await withoutOwner(spanning, person.id)
        const ownerless =
          left.length === 0
            ? ''
            : ` These organizations have no other owner who can log in: ${left.join(', ')}. Enable one again.`
        return `${person.email} is disabled and can no longer log in.${rest}${ownerless}`
      }),
    ),
    '$ rapport user disable --email ada@example.com',
  )

const enableCommand = () =>
  withExample(
    aboutOne('enable', 'Enable a disabled person, so that they can log in again.').action((options: Options) =>
      change(options, async (person) => async (spanning) => {
        await setDisabled(spanning, person.id, false)
        await record(spanning, person, 'account.enabled')
        return `${person.email} can log in again.`
      }),
    ),
    '$ rapport user enable --email ada@example.com',
  )

/** Finds the person, prepares outside of a transaction what takes long, then changes all or nothing. */
async function change(
  { email: given, json }: Options,
  prepare: (person: Person) => Promise<(spanning: Spanning) => Promise<string>>,
): Promise<void> {
  const config = configuration()
  const email = given.trim()
  const done = await withRapport({ config, purpose: 'rapport user', log: tell }, async ({ database }) => {
    const user = await findUserByEmail(database, email)
    if (!user) throw new Failure(`There is no person with the address ${email}.`)
    const work = await prepare({ id: user.id, email })
    return { userId: showId('usr', user.id), words: await database.spanningTransaction('manage an account', work) }
  })
  answer(json ? JSON.stringify({ userId: done.userId }) : done.words)
}

const record = (spanning: Spanning, { id }: Person, action: AuditAction): Promise<void> =>
  recordPersonEvent(spanning, id, {
    action,
    actorKind: 'command',
    actorId: null,
    recordType: 'user',
    recordId: showId('usr', id),
  })

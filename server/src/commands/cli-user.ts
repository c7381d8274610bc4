import { Command } from 'commander'
import { hashPassword, passwordFault } from '../platform/access/passwords.ts'
import type { AuditAction } from '../platform/audit/actions.ts'
import { recordPersonEvent } from '../platform/audit/store.ts'
import type { Spanning } from '../platform/database/database.ts'
import { queueMail } from '../platform/mail/queue-store.ts'
import { showId } from '../platform/resource/ids.ts'
import { countKeysOf, endSessions, setDisabled, setPassword, withoutOwner } from '../resources/auth/store.ts'
import { findUserByEmail } from '../resources/users/store.ts'
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
      .description('Help people who log in, or keep them out.')
      .addCommand(resetPasswordCommand())
      .addCommand(endSessionsCommand())
      .addCommand(disableCommand())
      .addCommand(enableCommand()),
    '$ rapport user reset-password --email ada@example.com\n$ rapport user disable --email ada@example.com',
  )

const aboutOne = (name: string, description: string) =>
  new Command(name)
    .description(description)
    .requiredOption('--email <address>', 'the person’s address')
    .option('--json', 'answer with one JSON object')

const resetPasswordCommand = () =>
  withExample(
    aboutOne(
      'reset-password',
      'Set a new password for a person and end all their sessions. Who has a second factor still needs it.',
    )
      .option('--password <password>', 'the new password; safer: RAPPORT_PASSWORD, --password-stdin or the prompt')
      .option('--password-stdin', 'read the password from standard input')
      .action((options: Options) =>
        change(options, async (person) => {
          const password = await readPassword(options)
          const fault = await passwordFault(password, { email: person.email })
          if (fault !== undefined) throw new Failure(`The password does not do: ${fault}.`)
          const hash = await hashPassword(password, 'command')
          return async (spanning) => {
            await setPassword(spanning, { userId: person.id, hash })
            await record(spanning, person, 'password.reset')
            const mail = { kind: 'account-changed', recipient: person.email, userId: person.id } as const
            await queueMail(spanning, { ...mail, facts: { what: 'password-changed' } })
            return `${person.email} has a new password; every session of theirs has ended.`
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
    aboutOne('disable', 'Let nobody log in as this person any more, and end their sessions.').action(
      (options: Options) =>
        change(options, async (person) => async (spanning) => {
          await setDisabled(spanning, person.id, true)
          await record(spanning, person, 'account.disabled')
          const keys = await countKeysOf(spanning, person.id)
          const rest =
            keys === 0 ? '' : ` API keys that they made: ${keys}. They belong to the organization: revoke them there.`
          const left = await withoutOwner(spanning, person.id)
          const ownerless =
            left.length === 0 ? '' : ` No other owner who can log in is left in: ${left.join(', ')}. Enable one again.`
          return `Nobody logs in as ${person.email} any more.${rest}${ownerless}`
        }),
    ),
    '$ rapport user disable --email ada@example.com',
  )

const enableCommand = () =>
  withExample(
    aboutOne('enable', 'Let a person who was disabled log in again.').action((options: Options) =>
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

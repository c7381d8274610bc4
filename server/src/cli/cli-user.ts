import { Command } from 'commander'
import { hashPassword, passwordError } from '../identity/access/passwords.ts'
import { queueMail } from '../identity/mails/store.ts'
import {
  countActiveKeys,
  endSessions,
  setDisabled,
  setPassword,
  findOrganizationsWithoutOwner,
} from '../identity/auth/store.ts'
import { deletePersonCommand, removeSecondFactorsCommand } from './cli-user-account.ts'
import { invitationLinkCommand, inviteOwnerCommand, promoteCommand } from './cli-user-owner.ts'
import { Failure, withExample } from './command.ts'
import { readPassword } from './password.ts'
import { change, personCommand, type PersonOptions, record } from './person-command.ts'

interface PasswordOptions extends PersonOptions {
  password?: string
  passwordStdin?: boolean
}

/** `rapport user`: lets the operator help people who cannot help themselves. */
export const userCommand = () =>
  withExample(
    new Command('user')
      .description('Help people who cannot help themselves, and delete them.')
      .addCommand(resetPasswordCommand())
      .addCommand(endSessionsCommand())
      .addCommand(disableCommand())
      .addCommand(enableCommand())
      .addCommand(removeSecondFactorsCommand())
      .addCommand(promoteCommand())
      .addCommand(inviteOwnerCommand())
      .addCommand(invitationLinkCommand())
      .addCommand(deletePersonCommand()),
    '$ rapport user reset-password --email ada@example.com\n$ rapport user disable --email ada@example.com',
  )

const resetPasswordCommand = () =>
  withExample(
    personCommand(
      'reset-password',
      'Set a new password for a person and end all their sessions. A second factor is still required.',
    )
      .option('--password <password>', 'the new password; RAPPORT_PASSWORD, --password-stdin and the prompt are safer')
      .option('--password-stdin', 'read the password from standard input')
      .action((options: PasswordOptions) =>
        change(options, async (person) => {
          const password = await readPassword(options)
          const error = await passwordError(password, { email: person.email })
          if (error !== undefined) throw new Failure(`The password is not acceptable: ${error}.`)
          const hash = await hashPassword(password, 'command')
          return async (db) => {
            await setPassword(db, { userId: person.id, hash })
            await record(db, person, 'password.reset')
            const mail = { kind: 'account-changed', recipient: person.email, userId: person.id } as const
            await queueMail(db, { ...mail, facts: { what: 'password-changed' } })
            return `${person.email} has a new password; all their sessions have ended.`
          }
        }),
      ),
    '$ rapport user reset-password --email ada@example.com',
  )

const endSessionsCommand = () =>
  withExample(
    personCommand('end-sessions', 'Log a person out everywhere.').action((options: PersonOptions) =>
      change(options, async (person) => async (db) => {
        const count = await endSessions(db, person.id)
        await record(db, person, 'session.ended')
        return `${count} sessions of ${person.email} have ended.`
      }),
    ),
    '$ rapport user end-sessions --email ada@example.com',
  )

const disableCommand = () =>
  withExample(
    personCommand('disable', 'Disable a person: end their sessions and prevent further logins.').action(
      (options: PersonOptions) =>
        change(options, async (person) => async (db) => {
          await setDisabled(db, person.id, true)
          await record(db, person, 'account.disabled')
          const keys = await countActiveKeys(db, person.id)
          const keysNote =
            keys === 0
              ? ''
              : keys === 1
                ? ' They have created an API key, which belongs to the organization: revoke it there.'
                : ` They have created ${keys} API keys, which belong to the organization: revoke them there.`
          const organizations = await findOrganizationsWithoutOwner(db, person.id)
          const ownerWarning =
            organizations.length === 0
              ? ''
              : ` These organizations have no other owner who can log in: ${organizations.join(', ')}. Enable one again.`
          return `${person.email} is disabled and can no longer log in.${keysNote}${ownerWarning}`
        }),
    ),
    '$ rapport user disable --email ada@example.com',
  )

const enableCommand = () =>
  withExample(
    personCommand('enable', 'Enable a disabled person, so that they can log in again.').action(
      (options: PersonOptions) =>
        change(options, async (person) => async (db) => {
          await setDisabled(db, person.id, false)
          await record(db, person, 'account.enabled')
          return `${person.email} can log in again.`
        }),
    ),
    '$ rapport user enable --email ada@example.com',
  )

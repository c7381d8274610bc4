import { setFactors } from '../identity/access/account-store.ts'
import { endSessions, setDisabled } from '../identity/auth/store.ts'
import { queueMail } from '../identity/mails/store.ts'
import { removeInbox } from '../inbox/store.ts'
import { leaveOrganization } from '../identity/members/store.ts'
import { removeAllFactors } from '../identity/second-factors/store.ts'
import { findSoleOwnerships, findMemberships, erasePerson } from '../identity/users/deletion-store.ts'
import { Failure, withExample } from './command.ts'
import { assertConfirmed, confirmOption } from './confirm.ts'
import { change, personCommand, type PersonOptions, record } from './person-command.ts'

export const removeSecondFactorsCommand = () =>
  withExample(
    personCommand(
      'remove-second-factors',
      'Remove all second factors, passkeys and recovery codes of a person who has lost them, and end all their sessions. Check first who asks for it.',
    ).action((options: PersonOptions) =>
      change(options, async (person) => async (db) => {
        const removed = await removeAllFactors(db, person.id)
        if (removed.length === 0) throw new Failure(`${person.email} has no second factor.`)
        await setFactors(db, person.id, [])
        await endSessions(db, person.id)
        for (const factor of removed) await record(db, person, 'factor.removed', { factor })
        const mail = { kind: 'account-changed', recipient: person.email, userId: person.id } as const
        await queueMail(db, { ...mail, facts: { what: 'second-factor-removed' } })
        return `${person.email} has no second factor any more; all their sessions have ended. They log in with their password and can set up a new one. Removed: ${removed.join(', ')}.`
      }),
    ),
    '$ rapport user remove-second-factors --email ada@example.com',
  )

interface DeleteOptions extends PersonOptions {
  confirm?: string
}

export const deletePersonCommand = () =>
  withExample(
    personCommand(
      'delete',
      'Delete a person: their address, name, password, second factors, sessions and memberships. What they wrote and the API keys that they created belong to the organizations and stay. This cannot be undone.',
    )
      .option(...confirmOption('the address'))
      .action((options: DeleteOptions) =>
        change(options, async (person) => {
          await assertConfirmed(person.email, options.confirm)
          return async (db) => {
            const owned = await findSoleOwnerships(db, person.id)
            if (owned.length > 0) {
              throw new Failure(
                `${person.email} is the only owner who can log in of: ${owned.join(', ')}. First make somebody else an owner (rapport user promote) or delete the organization (rapport organization delete).`,
              )
            }
            await record(db, person, 'account.deleted')
            await setDisabled(db, person.id, true)
            for (const organizationId of await findMemberships(db, person.id)) {
              await leaveOrganization(db, { organizationId, userId: person.id }, async () => true)
              await removeInbox(db, { organizationId, userId: person.id })
            }
            await erasePerson(db, person.id)
            return `${person.email} is deleted.`
          }
        }),
      ),
    '$ rapport user delete --email ada@example.com --confirm ada@example.com',
  )

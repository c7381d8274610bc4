import { Command } from 'commander'
import { hashPassword, passwordFault } from '../platform/access/passwords.ts'
import { recordPersonEvent } from '../platform/audit/store.ts'
import { queueMail } from '../platform/mail/queue-store.ts'
import { showId } from '../platform/resource/ids.ts'
import { setPassword } from '../resources/auth/store.ts'
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

/** `rapport user reset-password`: for whoever has the machine and no mail. */
export const userCommand = () =>
  new Command('user')
    .description('People who log in.')
    .addCommand(
      withExample(
        new Command('reset-password')
          .description(
            'Set a new password for a person and end all their sessions. Second factors stay: who has one still needs it.',
          )
          .requiredOption('--email <address>', 'the person’s address')
          .option('--password <password>', 'the new password; better: RAPPORT_PASSWORD, or the prompt')
          .option('--password-stdin', 'read it from standard input')
          .option('--json', 'answer as JSON')
          .action(resetPassword),
        '$ rapport user reset-password --email ada@example.com',
      ),
    )

async function resetPassword(options: Options): Promise<void> {
  const config = configuration()
  const email = options.email.trim()
  const ended = await withRapport({ config, purpose: 'rapport user', log: tell }, async ({ database }) => {
    const user = await findUserByEmail(database, email)
    if (!user) throw new Failure(`There is no person with the address ${email}.`)
    const password = await readPassword(options)
    const fault = await passwordFault(password, { email })
    if (fault !== undefined) throw new Failure(`The password does not do: ${fault}.`)
    const hash = await hashPassword(password)
    await database.spanningTransaction('manage an account', async (spanning) => {
      await setPassword(spanning, { userId: user.id, hash })
      const event = { action: 'password.reset', actorKind: 'command', actorId: null } as const
      const about = { recordType: 'user', recordId: showId('usr', user.id) }
      await recordPersonEvent(spanning, user.id, { ...event, ...about })
      const facts = { what: 'password-changed' } as const
      await queueMail(spanning, { kind: 'account-changed', recipient: email, userId: user.id, facts })
    })
    return showId('usr', user.id)
  })
  answer(
    options.json
      ? JSON.stringify({ userId: ended })
      : `${email} has a new password; every session of theirs has ended.`,
  )
}

import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { createTransport, SendError } from '../identity/mails/transport.ts'
import { renderBody } from '../identity/mails/message.ts'
import { configuration, Failure, printResult, withExample } from './command.ts'

interface Options {
  to: string
  json?: boolean
}

/** `rapport mail`: checks the mail server. It needs no database. */
export const mailCommand = () =>
  withExample(
    new Command('mail').description('Check that mails can be sent.').addCommand(testCommand()),
    '$ rapport mail test --to you@example.com',
  )

const testCommand = () =>
  withExample(
    new Command('test')
      .description('Send a mail with the settings SMTP_URL and MAIL_FROM now, and show what the mail server says.')
      .requiredOption('--to <address>', 'address that receives the mail')
      .option('--json', 'print one JSON object')
      .action(sendTest),
    '$ rapport mail test --to you@example.com',
  )

async function sendTest({ to, json }: Options): Promise<void> {
  const { smtpUrl, mailFrom, plaintextHosts } = configuration()
  if (!smtpUrl || !mailFrom)
    throw new Failure('SMTP_URL and MAIL_FROM are not set, so mails are stored instead of sent.')
  const recipient = to.trim()
  const server = `${smtpUrl.host}:${smtpUrl.port}`
  const subject = 'Test of the mail server'
  const parts = ['This mail was sent by the command `rapport mail test`.']
  const { language, text, html } = renderBody({ language: 'en', subject, parts })
  const mail = { reference: `test.${randomUUID()}`, recipient, subject, language, text, html }
  await createTransport(smtpUrl, mailFrom, plaintextHosts)
    .send(mail)
    .catch((error: unknown) => {
      if (!(error instanceof SendError)) throw error
      const detail = error.detail === undefined ? '' : ` (${error.detail})`
      throw new Failure(`${server}: ${error.message}${detail}. Nothing was sent.`, { cause: error })
    })
  const message = `${server} accepted a mail to ${recipient}. If it does not arrive, look at that server's log, and check SPF, DKIM and DMARC of the domain of MAIL_FROM.`
  printResult(json ? JSON.stringify({ server, recipient }) : message)
}

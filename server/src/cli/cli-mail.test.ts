import { expect, test } from 'vitest'
import { run } from '../../test/command-line.ts'
import { startMailReceiver } from '../../test/mail-receiver.ts'

const send = (environment: Record<string, string>) => run(['mail', 'test', '--to', 'ada@example.com'], { environment })

test('mail test sends one mail with the settings of the service', async () => {
  const receiver = await startMailReceiver()
  try {
    const done = await send({ SMTP_URL: receiver.url, MAIL_FROM: 'Rapport <crm@example.com>' })
    expect(done).toMatchObject({ code: 0, errors: '' })
    expect(done.output).toContain(`127.0.0.1:${receiver.port} accepted a mail to ada@example.com.`)
    expect(receiver.mails()).toMatchObject([
      { from: 'crm@example.com', to: ['ada@example.com'], subject: 'Test of the mail server' },
    ])
  } finally {
    await receiver.close()
  }
})

test('mail test says why nothing was sent', async () => {
  const receiver = await startMailReceiver({ login: { user: 'rapport', password: 'right' } })
  const url = new URL(receiver.url)
  url.username = 'rapport'
  url.password = 'wrong'
  const settings = { SMTP_URL: url.href, MAIL_FROM: 'crm@example.com' }
  try {
    const refused = await send(settings)
    expect(refused).toMatchObject({ code: 1, output: '' })
    expect(refused.errors).toContain('the mail server rejected the login (535)')
    expect(refused.errors).not.toContain('wrong')
  } finally {
    await receiver.close()
  }
  expect((await send(settings)).errors).toMatch(/the mail server could not be reached.*ECONNREFUSED/)
  expect((await send({})).errors).toContain('SMTP_URL and MAIL_FROM are not set')
})

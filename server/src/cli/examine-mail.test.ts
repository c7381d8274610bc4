import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { smtpServer } from '../identity/mails/settings.ts'
import { examineMail } from './examine-mail.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const smtpUrl = smtpServer('smtp://rapport:password@mail.example.com')

const insert = (columns: Record<string, string>) => {
  const all = { id: 'gen_random_uuid()', kind: `'sign-up'`, recipient: `'a@b.c'`, recipient_key: `'a@b.c'`, ...columns }
  return client.query(`insert into mails (${Object.keys(all).join()}) values (${Object.values(all).join()})`)
}

test('the doctor reports where mails go, failures and long waits, but never the password', async () => {
  expect(await examineMail(client, { smtpUrl: undefined })).toMatchObject({
    name: 'mail',
    state: 'note',
    message: 'SMTP_URL is not set; 0 mails are stored',
  })
  expect(await examineMail(client, { smtpUrl })).toEqual({
    name: 'mail',
    state: 'ok',
    message: 'sent through mail.example.com:587; 0 waiting, 0 failed within a day',
  })
  await insert({ status: `'failed'`, run_at: 'null', ended_at: 'now()', last_error: `'it was refused'` })
  expect(await examineMail(client, { smtpUrl })).toMatchObject({
    state: 'note',
    message: expect.stringContaining('1 failed'),
    advice: expect.stringContaining('it was refused'),
  })
  await insert({ run_at: `now() - interval '16 minutes'` })
  expect(await examineMail(client, { smtpUrl })).toMatchObject({
    state: 'wrong',
    message: expect.stringContaining('1 wait'),
  })
  await insert({ status: `'kept'`, run_at: 'null', ended_at: 'now()' })
  expect(await examineMail(client, { smtpUrl: undefined })).toMatchObject({
    message: 'SMTP_URL is not set; 1 mail is stored',
  })
})

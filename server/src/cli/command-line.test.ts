import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, type RunOptions, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/postgres.ts'
import { program } from '../main.ts'

let database: TestDatabase
let folder: string
let runOptions: RunOptions

beforeAll(async () => {
  database = await createDatabase()
  folder = await mkdtemp(join(tmpdir(), 'rapport-cli-'))
  runOptions = { environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder } }
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const owner = ['bootstrap', '--email', 'owner@example.com', '--password-stdin']
const password = 'a password that is long enough'

const pathsOf = (command: Command, above: string[] = []): string[][] =>
  command.commands.flatMap((child) => {
    const path = [...above, child.name()]
    return [path, ...pathsOf(child, path)]
  })

test('the command line has the documented commands', () => {
  expect(pathsOf(program()).map((path) => path.join(' '))).toEqual(
    (
      'start,bootstrap,api-key,api-key create,import,import create,import rotate,import disable,import enable,' +
      'import remove-received,import list,organization,organization export,organization delete,organization undelete,' +
      'user,user reset-password,user end-sessions,user disable,user enable,user remove-second-factors,user promote,' +
      'user invite-owner,user invitation-link,user delete,mail,mail test,keys,keys rotate,keys list,secret,secret replace,demo,' +
      'migrate,doctor,routes,backup,restore,upgrade-database'
    ).split(','),
  )
})

test.each(pathsOf(program()).map((path) => path.join(' ')))(
  '`rapport %s --help` shows an example and the exit codes',
  async (args) => {
    const { code, output, errors } = await run([...args.split(' '), '--help'])
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(output).toMatch(new RegExp(`Example:\\n  \\$ .*\\brapport(?:\\.js)? ${args}`))
    expect(output).toMatch(/Exit codes:\n {2}0 {2}done/)
  },
)

test('the program exits with the code and writes to the right stream', async () => {
  const [helped, wrong] = await Promise.all([runProcess(['--help']), runProcess(['bogus'])])
  expect(helped).toMatchObject({ code: 0, output: expect.stringMatching(/^Usage: rapport/), errors: '' })
  expect(wrong).toMatchObject({ code: 2, output: '', errors: expect.stringContaining(`unknown command 'bogus'`) })
})

test.each([
  [['bogus'], /unknown command 'bogus'/],
  [['migrate', '--force'], /unknown option '--force'/],
  [['bootstrap', '--email', 'a@example.com'], /'--organization <name>' not specified/],
  [['bootstrap', '--email', 'a@example.com', '--organization', 'A'], /A password is required/],
  [
    ['api-key', 'create', '--organization', 'A', '--name', 'B', '--scope', '*:*:read', '--expires', 'soon'],
    /not a date/,
  ],
  [['import', 'create', '--organization', 'A'], /'--name <name>' not specified/],
  [
    ['import', 'create', '--organization', 'A', '--name', 'B', '--merge', 'guess'],
    /Allowed choices are fill, overwrite/,
  ],
  [
    ['import', 'rotate', '--organization', 'A', '--import', 'B', '--overlap', 'soon'],
    /expected a number of seconds.*"soon"/,
  ],
])('the invalid command line %j exits with 2 and explains why', async (args, expected) => {
  const { code, output, errors } = await run(args)
  expect({ code, output }).toEqual({ code: 2, output: '' })
  expect(errors).toMatch(expected)
})

test('an invalid setting exits with 3 and without a stack trace', async () => {
  const { code, errors } = await run(['migrate'], { environment: { PORT: 'x' } })
  expect(code).toBe(3)
  expect(errors).toContain('PORT: expected')
  expect(errors).not.toContain(' at ')
})

test('an unreachable database exits with 3 and the reason', async () => {
  const environment = { DATABASE_URL: `postgres://nobody@/nothing?host=${folder}`, DATA_DIR: folder }
  const { code, errors } = await run(['migrate'], { environment })
  expect(code).toBe(3)
  expect(errors).toMatch(/The database cannot be reached: .*ENOENT/)
})

test('bootstrap and api-key print one JSON object or text', async () => {
  const created = await runProcess([...owner, '--organization', 'Acme', '--json'], {
    ...runOptions,
    input: `${password}\n`,
  })
  expect(created).toMatchObject({ code: 0, errors: '' })
  const members =
    'baseUrl authUrl teamBaseUrl userId organizationId teamId sessionId accessToken refreshToken apiKey importId triggerUrl'
  expect(Object.keys(JSON.parse(created.output))).toEqual(members.split(' '))
  const create = ['api-key', 'create', '--organization', 'Acme', '--name', 'Reports', '--scope', 'contact:*:read']
  const key = await run([...create, '--json'], runOptions)
  expect(JSON.parse(key.output)).toEqual({
    id: expect.stringMatching(/^key_/),
    organizationId: JSON.parse(created.output).organizationId,
    apiKey: expect.stringMatching(/^svc_/),
    scopes: ['urn:service:contact:*:read'],
  })
  const printed = await runProcess(create, runOptions)
  expect(printed.output).toMatch(/ {2}svc_\w{40}\n/)
  expect(printed.output).toMatch(/Service-Organization-ID: org_\w{32}\./)
  const args = await run([...owner, '--organization', 'Words'], { ...runOptions, input: `${password}\n` })
  expect(args.output).toMatch(/^Words is ready\.\n/)
  expect(args.output).toMatch(
    / {2}trigger URL {4}http:\/\/127\.0\.0\.1:4000\/v5\/imports\/imp_\w{32}\/trigger\/\w{43}\n/,
  )
  expect(args.output).toMatch(/curl http\S+\/trigger\/\w{43} -H 'Content-Type: application\/json' -d '\{"contact"/)
})

test('the password can come from the environment; a wrong one exits with 1 and is not shown', async () => {
  const environment = { ...runOptions.environment, RAPPORT_PASSWORD: password }
  const args = ['bootstrap', '--email', 'second@example.com', '--organization']
  expect((await run([...args, 'Second'], { environment })).code).toBe(0)
  const wrong = await run([...args, 'Third', '--password', 'hunter2-hunter2'], { environment })
  expect(wrong).toMatchObject({ code: 1, output: '' })
  expect(wrong.errors).toContain('not their password')
  expect(wrong.errors).not.toContain('hunter2')
})

test('bootstrap prints the addresses of PUBLIC_URL and AUTH_ORIGIN', async () => {
  const environment = {
    ...runOptions.environment,
    PUBLIC_URL: 'https://crm.example.com/',
    AUTH_ORIGIN: 'https://auth.example.com',
  }
  const { output } = await run([...owner, '--organization', 'Public', '--json'], { environment, input: password })
  expect(JSON.parse(output)).toMatchObject({
    baseUrl: 'https://crm.example.com/v5',
    authUrl: 'https://auth.example.com',
    teamBaseUrl: 'https://crm.example.com',
  })
})

test('migrate updates an empty database and reports nothing the second time', async () => {
  const empty = await createEmptyDatabase()
  const environment = {
    DATABASE_URL: databaseUrlOf(empty),
    DATA_DIR: folder,
    SECRET: 'another secret of enough characters',
  }
  const first = await runProcess(['migrate', '--json'], { environment })
  expect(first).toMatchObject({ code: 0, output: expect.stringContaining('"0001_basics.sql"') })
  const second = await run(['migrate', '--json'], { environment })
  expect(second).toEqual({ code: 0, errors: '', output: '{"applied":[]}\n' })
  await empty.drop()
})

test('doctor finds no problem in a healthy installation, and every problem in a broken one', async () => {
  expect((await run(['migrate'], runOptions)).code).toBe(0)
  const good = await runProcess(['doctor', '--json'], runOptions)
  const { healthy, findings } = JSON.parse(good.output)
  expect(findings.filter(({ state }: { state: string }) => state === 'wrong')).toEqual([])
  expect({ healthy, code: good.code }).toEqual({ healthy: true, code: 0 })

  const client = new pg.Client(database.connection)
  await client.connect()
  await client.query('create table planted (id int); insert into planted values (1), (1)')
  await client.query('create unique index concurrently planted_id on planted (id)').catch(() => undefined)
  await client.query(`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', '')`)
  const bad = await run(['doctor'], runOptions)
  await client.query('delete from schema_migrations where version = 9999; drop table planted')
  await client.end()
  expect(bad.code).toBe(1)
  expect(bad.output).toContain('WRONG  indexes: invalid, so not used: planted_id')
  expect(bad.output).toContain('WRONG  schema: newer than this code: it includes 9999_future.sql')

  const otherSecret = { ...runOptions.environment, SECRET: 'this is not the secret of that database' }
  const wrongSecret = await run(['doctor'], { environment: otherSecret })
  expect(wrongSecret.output).toMatch(/WRONG {2}secret: .*a different SECRET/)
  const nowhere = await run(['doctor'], { environment: { DATA_DIR: join(folder, 'none') } })
  expect(nowhere).toMatchObject({ code: 0, output: expect.stringContaining('none yet; the first start creates it') })
})

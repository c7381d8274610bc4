import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { configWarnings, fileSettings, parseConfig, settings } from './config.ts'
import type { Setting } from './settings.ts'
import { availableProcessors } from './processes/processors.ts'
import { StartError } from './platform/database/start-error.ts'
import type { Environment } from './secret-files.ts'

function refusalOf(environment: Environment): string {
  try {
    parseConfig(environment)
  } catch (error) {
    if (error instanceof StartError) return error.message
    throw error
  }
  return ''
}

test('without settings, the defaults apply; an empty value counts as unset', () => {
  const expected = {
    port: 4000,
    host: '127.0.0.1',
    dataFolder: resolve('data'),
    databaseUrl: undefined,
    trustProxy: false,
    corsOrigins: [],
    metricsPort: undefined,
    rateLimitPerMinute: undefined,
  }
  expect(parseConfig({})).toMatchObject(expected)
  expect(parseConfig({ PORT: '', DATABASE_URL: '', SECRET: '' })).toEqual(parseConfig({}))
})

test('each secret can be read from a file, but not from two places', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-config-'))
  try {
    const write = async (name: string, text: string) => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    }
    const url = 'postgres://rapport@/crm?host=/run/postgresql'
    const config = parseConfig({
      SECRET_FILE: await write('secret', `${'a'.repeat(32)}\n`),
      DATABASE_URL_FILE: await write('url', url),
      SMTP_URL_FILE: await write('smtp', 'smtps://me:word@mail.example.com\r\n'),
      MAIL_FROM: 'crm@example.com',
    })
    expect(config).toMatchObject({ secret: 'a'.repeat(32), databaseUrl: url, smtpUrl: { login: { password: 'word' } } })
    const both = refusalOf({ SECRET_FILE: join(folder, 'secret'), SECRET: 'b'.repeat(32) })
    expect(both).toContain('- SECRET_FILE: SECRET is set too; set only one of them')
    expect(refusalOf({ SECRET_FILE: join(folder, 'none') })).toContain('cannot be read (ENOENT)')
    expect(refusalOf({ SECRET_FILE: await write('empty', '\n') })).toContain('is empty')
    const invalid = refusalOf({ DATABASE_URL_FILE: await write('invalid', 'mysql://rapport:hidden@/crm') })
    expect(invalid).toContain('- DATABASE_URL: expected a connection string')
    expect(invalid).not.toContain('hidden')
    expect(refusalOf({ SECRETS_FILE: 'x' })).toContain('did you mean SECRET_FILE?')
    const secrets = Object.values<Setting<unknown>>(settings).filter(({ secret }) => secret)
    expect([...fileSettings.values()]).toEqual(secrets.map(({ name }) => name))
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('values are parsed into the types that the service needs', () => {
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: '/var/lib/rapport',
    DATABASE_URL: 'postgres://rapport@/crm?host=/run/postgresql',
    PUBLIC_URL: 'https://crm.example.com/base/',
    AUTH_ORIGIN: 'https://auth.example.com/',
    TRUST_PROXY: '10.0.0.0/8, ::1,loopback',
    CORS_ORIGINS: 'https://a.example, http://localhost:5173/',
    RATE_LIMIT_PER_MINUTE: '600',
  })
  expect(config).toMatchObject({
    port: 0,
    dataFolder: '/var/lib/rapport',
    databaseUrl: 'postgres://rapport@/crm?host=/run/postgresql',
    publicUrl: 'https://crm.example.com/base',
    authOrigin: 'https://auth.example.com',
    trustProxy: ['10.0.0.0/8', '::1', 'loopback'],
    corsOrigins: ['https://a.example', 'http://localhost:5173'],
    rateLimitPerMinute: 600,
  })
  expect(parseConfig({ TRUST_PROXY: '2' }).trustProxy).toBe(2)
  expect(parseConfig({ TRUST_PROXY: '0' }).trustProxy).toBe(false)
})

test('a role other than `all` requires a database that others can use too, and does not count what it does not do', () => {
  expect(refusalOf({ ROLE: 'api' })).toContain('- ROLE=api requires DATABASE_URL')
  const url = { DATABASE_URL: 'postgres://rapport@/crm?host=/run/postgresql', IMPORT_WORKERS: '4' }
  expect(parseConfig(url)).toMatchObject({ role: 'all', importWorkers: 4, reasoningConcurrency: 4 })
  expect(parseConfig({ ...url, ROLE: 'api' })).toMatchObject({ importWorkers: 0, reasoningConcurrency: 0 })
  expect(parseConfig({ ...url, ROLE: 'work' })).toMatchObject({ importWorkers: 4, databaseConnections: 2 })
})

const wrong: [string, string][] = [
  ['PORT', '70000'],
  ['PORT', '4000x'],
  ['HOST', 'http://localhost'],
  ['ROLE', 'worker'],
  ['PROCESSES', '0'],
  ['PROCESSES', '65'],
  ['PROCESSES', 'all'],
  ['DATABASE_URL', 'mysql://localhost/crm'],
  ['DATABASE_URL', 'postgres://localhost'],
  ['DATABASE_CONNECTIONS', '0'],
  ['PUBLIC_URL', 'crm.example.com'],
  ['PUBLIC_URL', 'https://user:password@crm.example.com'],
  ['AUTH_ORIGIN', 'https://crm.example.com/auth'],
  ['SECRET', 'short'],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['CORS_ORIGINS', '*'],
  ['LOG_LEVEL', 'verbose'],
]

test.each(wrong)('%s=%s is rejected by name', (name, value) => {
  expect(refusalOf({ [name]: value })).toContain(`- ${name}: expected`)
})

test('PROCESSES is a number or, with auto, one per processor', () => {
  expect(parseConfig({ PROCESSES: '3' }).processes).toBe(3)
  expect(parseConfig({ PROCESSES: 'auto' }).processes).toBe(Math.min(64, availableProcessors()))
  expect(refusalOf({ PROCESSES: '2.5' })).toContain('PROCESSES: expected a whole number from 1 to 64, or "auto"')
})

test('all errors are reported at once, without the values of secrets', () => {
  const message = refusalOf({ PORT: 'x', LOG_LEVEL: 'loud', SECRET: 'hunter2', DATABASE_URL: 'db:hunter3' })
  for (const name of ['PORT', 'LOG_LEVEL', 'SECRET', 'DATABASE_URL']) expect(message).toContain(`- ${name}: expected`)
  expect(message).toContain('"loud"')
  expect(message).not.toMatch(/hunter/)
})

test('contradictory settings are rejected', () => {
  expect(refusalOf({ METRICS_PORT: '4000' })).toContain('METRICS_PORT must differ from PORT')
  expect(refusalOf({ MAX_UNINDEXED_QUERIES: '16' })).toContain(
    'MAX_UNINDEXED_QUERIES must be below DATABASE_CONNECTIONS',
  )
})

test('REASONING_URL needs a model, and TLS unless it is on this machine or in PLAINTEXT_HOSTS', () => {
  const model = { REASONING_MODEL: 'small' }
  expect(refusalOf({ REASONING_URL: 'http://localhost:11434/v1' })).toContain('REASONING_URL requires REASONING_MODEL')
  expect(refusalOf({ REASONING_URL: 'http://localhost:11434/v1', ...model })).toBe('')
  expect(refusalOf({ REASONING_URL: 'https://models.example/v1', ...model })).toBe('')
  const plain = { REASONING_URL: 'http://ollama:11434/v1', ...model }
  expect(refusalOf(plain)).toContain('REASONING_URL connects to ollama without TLS')
  expect(refusalOf({ ...plain, PLAINTEXT_HOSTS: 'ollama' })).toBe('')
  expect(refusalOf({ REASONING_URL: 'http://169.254.169.254/v1', ...model })).toContain('never connects to it')
})

test('a misspelled name is an error; a short one, which may belong to another program, is only a warning', () => {
  expect(refusalOf({ DATABSE_URL: 'postgres://localhost/crm' })).toContain('did you mean DATABASE_URL?')
  expect(refusalOf({ Trust_Proxy: '1' })).toContain('did you mean TRUST_PROXY?')
  expect(refusalOf({ PROT: '8080' })).toBe('')
  expect(configWarnings({ PROT: '8080' })).toEqual(['PROT is not a setting; did you mean PORT?'])
})

test.each(Object.values(settings).map(({ name }) => name))('a name similar to %s is reported', (name) => {
  const reported = (near: string) => `${refusalOf({ [near]: '1' })}${configWarnings({ [near]: '1' }).join()}`
  const swapped = `${name.slice(0, -2)}${name.at(-1)}${name.at(-2)}`
  for (const near of [name.replaceAll('_', ''), `${name}X`, name.slice(0, -1), swapped, name.toLowerCase()]) {
    if (near !== name) expect([near, reported(near)]).toEqual([near, expect.stringContaining(`did you mean ${name}?`)])
  }
})

test('DATADIR and PUBLIC_URI are errors, unless the intended setting is present too', () => {
  expect(refusalOf({ DATADIR: '/var/lib/rapport' })).toContain('DATADIR is not a setting; did you mean DATA_DIR?')
  expect(refusalOf({ PUBLIC_URI: 'https://a.example' })).toContain(
    'PUBLIC_URI is not a setting; did you mean PUBLIC_URL?',
  )
  expect(refusalOf({ DATADIR: '/srv/other', DATA_DIR: '/var/lib/rapport' })).toBe('')
})

test('settings of other programs are ignored', () => {
  const names = `HOME PATH SHELL LANG PWD LOGNAME HOSTNAME HOSTTYPE HOSTS TERM USER MAIL MAILTO MAILCHECK EDITOR TZ TMPDIR
    PGHOST PGPORT PGUSER PGDATA PGDATABASE PGPASSWORD PGSSLMODE MYSQL_HOST REDIS_URL DATABASE_HOST BASE_URL HTTP_URL
    FTP_URL PUBLIC_IP PUBLIC_KEY PUBLIC_DIR META_DIR LOG_DIR LOGDIR XDG_DATA_DIRS XDG_DATA_HOME SECRETS SECRET_KEY
    HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_ENV NODE_OPTIONS SMTP_HOST SMTP_USER METRICS SSL_CERT_DIR POST PORTS
    SSH_AUTH_SOCK LS_COLORS COLUMNS LINES INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET npm_config_port CI DEBUG`
  const foreign = Object.fromEntries(names.split(/\s+/).map((name) => [name, 'x']))
  expect(parseConfig(foreign)).toEqual(parseConfig({}))
  expect(configWarnings(foreign)).toEqual([])
})

test('reading any environment either succeeds or names the invalid setting', () => {
  const names = Object.values(settings).map(({ name }) => name)
  const environment = fc.dictionary(fc.constantFrom(...names), fc.string())
  fc.assert(
    fc.property(environment, (given) => {
      const message = refusalOf(given)
      if (message !== '') expect(names.some((name) => message.includes(`- ${name}`))).toBe(true)
    }),
  )
})

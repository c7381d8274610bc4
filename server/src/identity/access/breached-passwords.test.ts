import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { run, runProcess, databaseUrlOf } from '../../../test/command-line.ts'
import { newOwner } from '../../../test/people.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { startTestService } from '../../../test/service.ts'
import { isBreached, setBreachedPasswordsFile } from './breached-passwords.ts'
import { passwordError } from './passwords.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-breached-'))
})
afterEach(() => setBreachedPasswordsFile(undefined))
afterAll(() => rm(folder, { recursive: true, force: true }))

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex').toUpperCase()

async function fileOf(lines: readonly string[], end = '\r\n'): Promise<string> {
  const file = join(folder, randomUUID())
  await writeFile(file, lines.join('\r\n') + end)
  return file
}

const shipped = async (): Promise<string[]> => {
  const file = createRequire(import.meta.url).resolve('#data/breached-passwords.txt')
  return (await readFile(file, 'utf8')).trimEnd().split('\n')
}

test('the 3,000 most common passwords of sufficient length and 41,000 more from breaches are rejected', async () => {
  const list = await shipped()
  expect(list.length).toBeGreaterThan(44_000)
  expect(list.filter((password) => Array.from(password).length < 12)).toEqual([])
  const looked = list.filter((_, index) => index < 3000 || index % 10 === 0)
  const taken: string[] = []
  for (const password of looked) if ((await passwordError(password)) === undefined) taken.push(password)
  expect(taken).toEqual([])
  for (const password of list) if (!(await isBreached(password))) taken.push(password)
  expect(taken).toEqual([])
})

test.each(['gc4k6NUhRDK2', 'GC4K6nuHrdk2', 'ｇc4k6NUhRDK2'])('%s is rejected as breached', async (password) => {
  expect(await passwordError(password)).toContain('appeared in a data breach')
})

test('setting a breached password fails with a reason', async () => {
  const service = await startTestService()
  try {
    const { call, password } = await newOwner(service)
    const body = { currentPassword: password, newPassword: 'gc4k6NUhRDK2' }
    const changed = await call('POST', '/v5/me/password', { body })
    expect([changed.status, changed.body.details]).toEqual([
      422,
      [{ field: 'newPassword', message: expect.stringContaining('appeared in a data breach') }],
    ])
  } finally {
    await service.close()
  }
})

test('a file of hashes extends the list by exactly its passwords', async () => {
  const breached = Array.from({ length: 300 }, () => randomBytes(12).toString('base64'))
  const lines = breached.map((password) => `${sha1(password)}:${randomBytes(1)[0]}`).sort()
  for (const [end, form] of [
    ['\r\n', (line: string) => line],
    ['', (line: string) => line],
    ['\n', (line: string) => line.toLowerCase()],
    ['\n', (line: string) => line.slice(0, 40)],
  ] as const) {
    await setBreachedPasswordsFile(await fileOf(lines.map(form), end))
    for (const password of breached) expect(await isBreached(password), password).toBe(true)
    for (let round = 0; round < 100; round++) expect(await isBreached(randomBytes(12).toString('base64'))).toBe(false)
  }
  await setBreachedPasswordsFile(undefined)
  expect(await isBreached(breached[0] ?? '')).toBe(false)
})

test.each([1, 2, 3])('the search covers all of a file with %i lines', async (count) => {
  const breached = Array.from({ length: count }, () => randomBytes(12).toString('base64'))
  await setBreachedPasswordsFile(await fileOf(breached.map(sha1).sort()))
  for (const password of breached) expect(await isBreached(password)).toBe(true)
  expect(await isBreached('nobody has leaked this')).toBe(false)
})

test('a file that cannot be searched is rejected at the start, with the reason', async () => {
  const lines = Array.from({ length: 500 }, () => sha1(randomUUID())).sort()
  const refused: [string, string][] = [
    ['ENOENT', join(folder, 'nowhere')],
    ['EISDIR', folder],
    ['empty', await fileOf([], '')],
    ['not a SHA-1 hash', await fileOf(['8846F7EAEE8FB117AD06BDD830B7586C:3'])],
    ['not a SHA-1 hash', await fileOf(['correct horse battery staple', 'Mailcreated5240'])],
    ['not sorted', await fileOf(lines.toReversed())],
    ['too long', await fileOf([...lines.slice(0, 250), 'x'.repeat(50_000)])],
  ]
  for (const [why, file] of refused) {
    await expect(setBreachedPasswordsFile(file)).rejects.toThrow(new RegExp(`BREACHED_PASSWORDS_FILE .*${why}`))
  }
})

test('commands and services use BREACHED_PASSWORDS_FILE', async () => {
  const database = await createDatabase()
  try {
    const password = 'velvet harbour ledger'
    const environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder, SECRET: randomUUID() }
    const words = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Engines', '--password', password]
    const file = await fileOf([`${sha1(password)}:12`])
    const refused = await run(words, { environment: { ...environment, BREACHED_PASSWORDS_FILE: file } })
    expect(refused.code).not.toBe(0)
    expect(refused.errors).toContain('appeared in a data breach')
    const started = await runProcess(['start'], { environment: { ...environment, BREACHED_PASSWORDS_FILE: folder } })
    expect(started.code).not.toBe(0)
    expect(started.errors).toContain('BREACHED_PASSWORDS_FILE')
    expect((await run(words, { environment })).code).toBe(0)
  } finally {
    await database.drop()
  }
})

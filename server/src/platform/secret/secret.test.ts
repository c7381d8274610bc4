import { createSecretKey, randomBytes } from 'node:crypto'
import { chmod, chown, lchown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../../test/postgres.ts'
import { Database } from '../database/database.ts'
import { StartError } from '../database/start-error.ts'
import { seal, unseal } from './encryption.ts'
import { assertSecretMatches, deriveKey, fingerprint, loadSecret } from './secret.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-secret-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('a secret is the same in hex, base64 and base64url, with surrounding white space', async () => {
  const bytes = randomBytes(32)
  const forms = [
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    ` ${bytes.toString('hex')}\n`,
  ]
  for (const given of forms) {
    const secret = await loadSecret({ dataFolder: folder, given })
    expect(secret.equals(createSecretKey(bytes)), given).toBe(true)
  }
  expect(await readdir(folder)).toEqual([])
})

test('any other text of 32 characters becomes a secret of 32 bytes, and different texts become different secrets', async () => {
  const text = 'not sixty-four hexadecimal digits!'
  const [first, again, other] = await Promise.all(
    [text, text, `${text}!`].map((given) => loadSecret({ dataFolder: folder, given })),
  )
  expect(first?.symmetricKeySize).toBe(32)
  expect(first && again?.equals(first)).toBe(true)
  expect(first && other?.equals(first)).toBe(false)
})

test.each(['', 'short', 'thirty-one characters are few..', '0'.repeat(64), 'ab'.repeat(20)])(
  'the weak secret "%s" is rejected',
  async (given) => {
    await expect(loadSecret({ dataFolder: folder, given })).rejects.toThrow(StartError)
  },
)

test('concurrent first starts agree on one secret, which only its owner can read', async () => {
  for (let round = 0; round < 20; round++) {
    const dataFolder = join(folder, `new-${round}`, 'data')
    const secrets = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        for (let turn = 0; turn < index * 3; turn++) await setImmediate()
        return fingerprint(await loadSecret({ dataFolder }))
      }),
    )
    expect(new Set(secrets).size).toBe(1)
    expect(await readdir(dataFolder)).toEqual(['secret'])
    expect((await stat(join(dataFolder, 'secret'))).mode & 0o777).toBe(0o600)
    expect(fingerprint(await loadSecret({ dataFolder }))).toBe(secrets[0])
  }
})

test('a damaged secret file is rejected and left unchanged', async () => {
  const path = join(folder, 'secret')
  await writeFile(path, 'half a sec')
  await expect(loadSecret({ dataFolder: folder })).rejects.toThrow(/does not contain a secret/)
  expect(await readFile(path, 'utf8')).toBe('half a sec')
})

test('a logged secret reveals nothing', async () => {
  const bytes = randomBytes(32)
  const shown = inspect(createSecretKey(bytes), { depth: 5, showHidden: true }) + JSON.stringify(createSecretKey(bytes))
  expect(shown).not.toContain(bytes.toString('hex'))
  expect(shown).not.toContain(bytes.toString('base64'))
})

test('keys differ by purpose, by info and by secret', () => {
  const secret = createSecretKey(randomBytes(32))
  const keys = [
    deriveKey(secret, 'refresh token'),
    deriveKey(secret, 'signing key'),
    deriveKey(secret, 'signing key', 'a'),
    deriveKey(secret, 'signing key', 'b'),
    deriveKey(createSecretKey(randomBytes(32)), 'signing key'),
  ].map((key) => key.toString('hex'))
  expect(new Set(keys).size).toBe(keys.length)
  expect(deriveKey(secret, 'signing key', 'a').toString('hex')).toBe(keys[2])
})

test('sealed data opens only with its key and only unchanged', () => {
  const key = randomBytes(32)
  const sealed = seal(key, Buffer.from('text'))
  expect(unseal(key, sealed).toString()).toBe('text')
  expect(sealed.includes('text')).toBe(false)
  expect(() => unseal(randomBytes(32), sealed)).toThrow()
  for (let position = 0; position < sealed.length; position++) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(position) ^ 1, position)
    expect(() => unseal(key, changed), `byte ${position}`).toThrow()
  }
  expect(() => unseal(key, sealed.subarray(0, 20))).toThrow()
})

test('a database stores the first secret and rejects any other', async () => {
  const { connection, drop } = await createDatabase()
  const database = new Database({ connection, size: 4 })
  try {
    const secret = createSecretKey(randomBytes(32))
    await Promise.all([assertSecretMatches(database, secret), assertSecretMatches(database, secret)])
    await assertSecretMatches(database, secret)
    await expect(assertSecretMatches(database, createSecretKey(randomBytes(32)))).rejects.toThrow(/a different SECRET/)
    await assertSecretMatches(database, secret)
  } finally {
    await database.close()
    await drop()
  }
})

test('a secret that every user can read is refused', async () => {
  const dataFolder = await mkdtemp(join(folder, 'readable-'))
  const path = join(dataFolder, 'secret')
  await writeFile(path, randomBytes(32).toString('hex'), { mode: 0o600 })
  await loadSecret({ dataFolder })
  await chmod(path, 0o644)
  await expect(loadSecret({ dataFolder })).rejects.toThrow(`chmod 600 ${path}`)
  await expect(loadSecret({ dataFolder })).rejects.toThrow(StartError)
})

test.runIf(process.getuid?.() === 0)('a secret that another user has written, or links to, is refused', async () => {
  const dataFolder = await mkdtemp(join(folder, 'planted-'))
  const path = join(dataFolder, 'secret')
  await writeFile(path, randomBytes(32).toString('hex'), { mode: 0o600 })
  await chown(path, 12345, 12345)
  await expect(loadSecret({ dataFolder })).rejects.toThrow(/belongs to user 12345, who may know it/)
  await rm(path)
  const own = join(folder, 'elsewhere')
  await writeFile(own, randomBytes(32).toString('hex'), { mode: 0o600 })
  await symlink(own, path)
  await loadSecret({ dataFolder })
  await lchown(path, 12345, 12345)
  await expect(loadSecret({ dataFolder })).rejects.toThrow(StartError)
})

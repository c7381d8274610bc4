import { randomBytes, randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { least } from '../../../test/least.ts'
import { seed } from '../../../test/seed.ts'
import { hashPassword, verifyPassword, needsRehash, passwordError } from './passwords.ts'

const asKnown = { callerKind: 'known', clientKey: 'a' } as const

test('a password is stored as argon2id with 19 MiB and two passes, and only that password matches', async () => {
  const stored = await hashPassword('correct horse battery', 'a')
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  expect(await verifyPassword('correct horse battery', stored, asKnown)).toBe(true)
  expect(await verifyPassword('correct horse battery.', stored, asKnown)).toBe(false)
})

test('a different Unicode encoding of the same letters is the same password', async () => {
  expect(
    await verifyPassword('pa\u0308ssword with marks', await hashPassword('p\u00e4ssword with marks', 'a'), asKnown),
  ).toBe(true)
})

test('without a stored hash no password matches, and the check takes equally long', async () => {
  const stored = await hashPassword('correct horse battery', 'a')
  const medians = { known: 0, unknown: 0 }
  const times = { known: [] as number[], unknown: [] as number[] }
  for (let round = 0; round < 9; round++) {
    for (const kind of ['known', 'unknown'] as const) {
      const before = process.cpuUsage()
      expect(await verifyPassword('wrong horse battery', kind === 'known' ? stored : null, asKnown)).toBe(false)
      const { user, system } = process.cpuUsage(before)
      times[kind].push(user + system)
    }
  }
  for (const kind of ['known', 'unknown'] as const) medians[kind] = times[kind].toSorted((a, b) => a - b)[4] ?? 0
  // Processor time, which other processes do not increase. A lookup alone takes a hundredth of it.
  expect(medians.unknown).toBeGreaterThan(medians.known * 0.5)
  expect(medians.unknown).toBeLessThan(medians.known * 2)
})

test('a hash needs rehashing only if its parameters are outdated', async () => {
  expect(needsRehash(await hashPassword('correct horse battery', 'a'))).toBe(false)
  const salted = 'c29tZXNhbHRzb21lc2FsdA$c29tZWhhc2hzb21laGFzaHNvbWVoYXNoc29tZWhhc2g'
  for (const parameters of ['m=19456,t=3,p=1', 'm=194560,t=2,p=1', 'm=4096,t=2,p=1']) {
    expect(needsRehash(`$argon2id$v=19$${parameters}$${salted}`), parameters).toBe(true)
  }
  expect(needsRehash(`$argon2i$v=19$m=19456,t=2,p=1$${salted}`)).toBe(true)
})

test('hashing many passwords does not block file reads of the process', async () => {
  const hashedMeanwhile = await least(19, async () => {
    let hashed = 0
    const all = Promise.all(
      Array.from({ length: 20 }, () => verifyPassword('any password at all', null, asKnown).then(() => hashed++)),
    )
    for (let read = 0; read < 50; read++) await readFile(import.meta.filename)
    const then = hashed
    await all
    return then
  })
  expect(hashedMeanwhile).toBeLessThan(20)
})

test('a password has 12 to 128 characters, regardless of their bytes', async () => {
  const letters = Array.from('😀🎉🚀🌍🐳🍕🎸🚲🌵🧭🔭')
  expect(await passwordError('xkqvmwtzrjh')).toContain('12 to 128')
  expect(await passwordError(letters.join(''))).toContain('has 11')
  expect(await passwordError(`${letters.join('')}🪁`)).toBeUndefined()
  const long = `${'never twice the same '.repeat(6)}x`
  expect(await passwordError(`${long}y`)).toBeUndefined()
  expect([`${long}y`.length, `${long}yz`.length]).toEqual([128, 129])
  expect(await passwordError(`${long}yz`)).toContain('12 to 128')
})

const words = [
  'harbour',
  'velvet',
  'cactus',
  'thirteen',
  'wombat',
  'ledger',
  'Nebel',
  'Ölkanne',
  'парус',
  '港',
  '9',
  '!',
]

test('four or more words are accepted, without rules about character classes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.constantFrom(...words), { minLength: 4, maxLength: 9 }),
      fc.constantFrom('', ' ', '-', '2026'),
      async (chosen, between) => {
        const password = chosen.join(between)
        fc.pre(Array.from(password).length >= 12)
        expect(await passwordError(password, { email: 'ada@example.com', names: ['Acme'] })).toBeUndefined()
      },
    ),
    { seed },
  )
})

test('random passwords of twelve characters are accepted', async () => {
  for (let round = 0; round < 200; round++) {
    const password = randomBytes(9).toString('base64')
    expect(await passwordError(password), password).toBeUndefined()
  }
})

test('random numbers are accepted, except the few that follow the keyboard', async () => {
  const refused: string[] = []
  for (let round = 0; round < 200; round++) {
    const password = `${randomInt(2 ** 47)}`.padStart(15, '7')
    if ((await passwordError(password)) !== undefined) refused.push(password)
  }
  // One in 4,000 does, so five of 200 occur once in a billion runs.
  expect(refused.length, refused.join()).toBeLessThan(5)
})

test.each([
  ['a common one', 'unbelievable', 'most common'],
  ['in other case', 'UnBelievable', 'most common'],
  ['in letters of full width', 'ｕnbelievable', 'most common'],
  ['twice', 'SunshineSunshine', 'most common'],
  ['with digits after it', 'sunshine2026!', 'most common'],
  ['one character', 'aaaaaaaaaaaa', 'repeat the same few characters'],
  ['one character of four bytes', '😀'.repeat(12), 'repeat the same few characters'],
  ['a short piece repeated', 'abc9!abc9!abc9!a', 'repeat the same few characters'],
  ['all digits', '123456789012', 'keyboard'],
  ['the alphabet', 'abcdefghijkl', 'keyboard'],
  ['the alphabet backwards', 'ZYXWVUTSRQPO', 'keyboard'],
  ['rows of keys', '1234567890qwertz', 'keyboard'],
  ['rows of keys elsewhere', 'azertyuiopqsdfgh', 'keyboard'],
  ['doubled keys', '112233445566', 'keyboard'],
])('%s is rejected: %s', async (_, password, why) => {
  const error = await passwordError(password)
  expect(error).toContain(why)
  expect(error).toContain('four or five unrelated words')
})

test.each([
  'ada.lovelace@example.com',
  'AdaLovelace1815',
  'lovelace-lovelace',
  'ada.lovelace+2026',
  'rapport-2026-rapport',
  'Difference Engines 1842',
  'EXAMPLE2026!2026',
])('a password made of the owner’s names is rejected: %s', async (password) => {
  const owner = { email: 'ada.lovelace@example.com', names: ['Difference Engines'] }
  expect(await passwordError(password, owner)).toContain('consist of your address')
  expect(await passwordError(`${password} and a wombat`, owner)).toBeUndefined()
})

test('every common password of sufficient length is rejected', async () => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const list = dictionary['passwords-common']
  expect(list.length).toBeGreaterThan(10_000)
  const long = list.filter((password) => password.length >= 12)
  expect(long.length).toBeGreaterThan(200)
  for (const password of long) expect(await passwordError(password), password).toBeDefined()
  for (const password of list.slice(0, 10_000).filter(({ length }) => length >= 6)) {
    expect(await passwordError(password + password), password).toBeDefined()
  }
})

import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { guessabilityFault, type PasswordOwner } from './common-passwords.ts'
import { type CallerKind, createHashQueue, type HashQueue } from './hash-queue.ts'

/** Characters a password has at least and at most: long enough to resist guessing, short enough to hash in time. */
export const passwordLength = { min: 12, max: 128 } as const

// argon2id, 19 MiB, two passes, one lane: OWASP's first choice. About 100 ms of a core.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const hashPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

/** One for the process: its cores are what is shared. */
let queue = createHashQueue()

/** Takes turns in this queue from now on, which other processes on the same cores share. */
export function setHashQueue(shared: HashQueue): void {
  queue = shared
}

/**
 * What is wrong with a new password and what to do, or undefined. Only its length and what a guesser tries first count:
 * any characters will do (NIST SP 800-63B-4, section 3.1.1.2).
 */
export async function passwordFault(password: string, owner: PasswordOwner = {}): Promise<string | undefined> {
  const { length } = Array.from(password)
  if (length >= passwordLength.min && length <= passwordLength.max) return guessabilityFault(password, owner)
  return `a password must have ${passwordLength.min} to ${passwordLength.max} characters; this one has ${length}`
}

/**
 * The password as it may be stored, hashed in the turn of whoever asks (`party`): somebody who has a session or a link, or
 * has just logged in. Errors: `overloaded`.
 */
export const hashPassword = (password: string, clientKey: string): Promise<string> =>
  queue.run('known', clientKey, () => hash(normalize(password), cost))

/**
 * Is this the password behind the hash? Without one (nobody has the address, or they have no password) it is not, and
 * finding that out takes as long. Errors: `overloaded`.
 */
export const verifyPassword = (
  password: string,
  stored: string | null,
  { callerKind, clientKey }: { callerKind: CallerKind; clientKey: string },
): Promise<boolean> => queue.run(callerKind, clientKey, () => verify(stored ?? unmatchableHash, normalize(password)))

/** Was the hash made with other parameters than today's? Then make a new one while the password is at hand. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(hashPrefix)

/** A hash that no password is behind, of the lengths that `hash` makes: 16 bytes of salt, 32 of hash. */
const unmatchableHash = `${hashPrefix}${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

/** Keyboards send one letter in several encodings. */
const normalize = (password: string): string => password.normalize('NFKC')

import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { guessabilityError, type PasswordOwner } from './common-passwords.ts'
import { type CallerKind, createHashQueue, type HashQueue } from './hash-queue.ts'

/** Password length in characters: long enough to resist guessing, short enough to hash quickly. */
export const passwordLength = { min: 12, max: 128 } as const

// argon2id, 19 MiB, two passes, one lane: OWASP's first choice. About 100 ms of a core.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const hashPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

/** One queue for the process, whose cores it shares out. */
let queue = createHashQueue()

/** Uses this queue instead, which processes on the same machine share. */
export function setHashQueue(shared: HashQueue): void {
  queue = shared
}

/**
 * What is wrong with a new password and what to do, or undefined. Only its length and how easy it is to guess count:
 * any characters are allowed (NIST SP 800-63B-4, section 3.1.1.2).
 */
export async function passwordError(password: string, owner: PasswordOwner = {}): Promise<string | undefined> {
  const { length } = Array.from(password)
  if (length >= passwordLength.min && length <= passwordLength.max) return guessabilityError(password, owner)
  return `a password must have ${passwordLength.min} to ${passwordLength.max} characters; this one has ${length}`
}

/**
 * Hashes a password in the queue of known callers: the caller has a session or a link, or has just logged in. Errors:
 * `overloaded`.
 */
export const hashPassword = (password: string, clientKey: string): Promise<string> =>
  queue.run('known', clientKey, () => hash(normalize(password), cost))

/**
 * Whether the password matches the hash. Without a hash (no account, or no password) it takes as long and returns
 * false. Errors: `overloaded`.
 */
export const verifyPassword = (
  password: string,
  stored: string | null,
  { callerKind, clientKey }: { callerKind: CallerKind; clientKey: string },
): Promise<boolean> => queue.run(callerKind, clientKey, () => verify(stored ?? unmatchableHash, normalize(password)))

/** Whether the hash has outdated parameters. Hash the password again while it is known. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(hashPrefix)

/** A hash that no password matches, with the lengths that `hash` produces: 16 bytes of salt, 32 of hash. */
const unmatchableHash = `${hashPrefix}${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

/** Different keyboards encode the same letter differently. */
const normalize = (password: string): string => password.normalize('NFKC')

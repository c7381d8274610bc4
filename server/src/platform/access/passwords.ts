import { hash, verify } from '@node-rs/argon2'

/** Characters a password has at least and at most: long enough to resist guessing, short enough to hash in time. */
export const passwordLength = { least: 12, most: 128 } as const

// argon2id, 19 MiB, two passes, one lane: OWASP's first choice. About 100 ms of a core.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** What is wrong with a new password, or undefined. */
export function passwordFault(password: string): string | undefined {
  const { length } = Array.from(password)
  if (length >= passwordLength.least && length <= passwordLength.most) return undefined
  return `a password has ${passwordLength.least} to ${passwordLength.most} characters`
}

/** The password as it may be stored. */
export const hashPassword = (password: string): Promise<string> => hash(normalize(password), cost)

/** Is this the password behind the hash? */
export const isPassword = (password: string, stored: string): Promise<boolean> => verify(stored, normalize(password))

/** Keyboards send one letter in several encodings. */
const normalize = (password: string): string => password.normalize('NFKC')

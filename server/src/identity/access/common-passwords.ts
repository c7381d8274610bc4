import { fold, isBreached } from './breached-passwords.ts'

/** The owner of a new password: their names are what an attacker tries first. */
export interface PasswordOwner {
  email?: string | undefined
  /** Names of the person and their organization. */
  names?: readonly string[]
}

const advice = 'choose something nobody would guess, such as four or five unrelated words'

/** Why a password is easy to guess, and what to do; undefined if it is not. */
export async function guessabilityError(password: string, owner: PasswordOwner): Promise<string | undefined> {
  const text = fold(password)
  const unit = repeatedUnit(text)
  if (unit.length <= maxRepeatedLength) return `a password must not repeat the same few characters: ${advice}`
  if (followsKeyboard(text)) return `a password must not follow the keyboard or the alphabet: ${advice}`
  if (isOwnName(text, owner)) {
    return `a password must not consist of your address, the product’s name or your organization’s name: ${advice}`
  }
  const common = await commonPasswords()
  // `sunshine`, `sunshinesunshine` and `sunshine2026!` count as one guess.
  const guesses = [text, unit, text.replace(/[\d\p{P}\p{S}]{1,6}$/u, '')]
  if (guesses.some((guess) => common.has(guess))) return `this password is one of the most common ones: ${advice}`
  if (await isBreached(password)) return `this password has appeared in a data breach: ${advice}`
  return undefined
}

let loaded: Promise<ReadonlySet<string>> | undefined

/**
 * The 49,000 most common leaked passwords. Loaded on first use: they take 16 MB, and most processes never need them.
 */
const commonPasswords = (): Promise<ReadonlySet<string>> =>
  (loaded ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map(fold)),
  ))

/** Up to this many characters, repeating a unit does not make a password stronger. */
const maxRepeatedLength = 5

/**
 * The shortest unit whose repetition gives the text (the last one may be cut off); the text itself if there is none.
 */
function repeatedUnit(text: string): string {
  const characters = Array.from(text)
  for (let period = 1; period <= characters.length / 2; period++) {
    if (characters.every((character, index) => character === characters[index % period])) {
      return characters.slice(0, period).join('')
    }
  }
  return text
}

/** Rows of the most common keyboard layouts, and the alphabet. The first key follows the last. */
const keyboardRows = [
  '1234567890',
  'abcdefghijklmnopqrstuvwxyz',
  ...['qwertyuiop', 'asdfghjkl', 'zxcvbnm'],
  ...['qwertzuiop', 'yxcvbnm'],
  ...['azertyuiop', 'qsdfghjklm', 'wxcvbn'],
]

const adjacentKeys = new Set(
  keyboardRows.flatMap((row) =>
    Array.from(row, (key, index) => {
      const next = row[(index + 1) % row.length] ?? ''
      return [key + next, next + key]
    }).flat(),
  ),
)

/**
 * Whether three of four characters repeat the previous key or are next to it. In words one in five is, in random digits
 * three in ten.
 */
function followsKeyboard(text: string): boolean {
  const characters = Array.from(text)
  const isStep = (one: string, index: number) => {
    const next = characters[index + 1]
    return next !== undefined && (next === one || adjacentKeys.has(one + next))
  }
  return characters.filter(isStep).length >= (characters.length - 1) * 0.75
}

const productName = 'rapport'

/** Whether its letters consist of the names alone. Digits and punctuation between them add little strength. */
function isOwnName(text: string, { email = '', names = [] }: PasswordOwner): boolean {
  const at = email.lastIndexOf('@')
  const addressParts = at < 0 ? [] : [email, email.slice(0, at), email.slice(at + 1), ...email.split(/[@.+_-]/)]
  const ownNames = [...addressParts, ...names, ...names.flatMap((name) => name.split(/\s+/)), productName]
    .map((name) => lettersOf(fold(name)))
    .filter((name) => name.length >= 3)
    .sort((left, right) => right.length - left.length)
  const letters = lettersOf(text)
  return letters !== '' && ownNames.reduce((rest, name) => rest.replaceAll(name, ''), letters) === ''
}

const lettersOf = (text: string): string => text.replace(/[^\p{L}\p{M}]/gu, '')

import { fold, isBreached } from './breached-passwords.ts'

/** Whose password it is to be: what others would try first. */
export interface PasswordOwner {
  email?: string | undefined
  /** Names of the person or their organization. */
  names?: readonly string[]
}

const advice = 'choose something nobody would guess, such as four or five unrelated words'

/** Why a password would be guessed early, and what to do; undefined when it would not. */
export async function guessabilityFault(password: string, owner: PasswordOwner): Promise<string | undefined> {
  const text = fold(password)
  const unit = repeatedUnit(text)
  if (unit.length <= maxRepeatedLength) return `a password must not repeat the same few characters: ${advice}`
  if (followsKeyboard(text)) return `a password must not follow the keyboard or the alphabet: ${advice}`
  if (isOwnName(text, owner)) {
    return `a password must not consist of your address, the product’s name or your organization’s name: ${advice}`
  }
  const common = await commonPasswords()
  // `sunshine`, `sunshinesunshine` and `sunshine2026!` are one guess.
  const guesses = [text, unit, text.replace(/[\d\p{P}\p{S}]{1,6}$/u, '')]
  if (guesses.some((guess) => common.has(guess))) return `this password is one of the most common ones: ${advice}`
  if (await isBreached(password)) return `this password has appeared in a data breach: ${advice}`
  return undefined
}

let loaded: Promise<ReadonlySet<string>> | undefined

/** 49,000 passwords that leaked most often. Loaded with the first use: they take 16 MB, and most processes never ask. */
const commonPasswords = (): Promise<ReadonlySet<string>> =>
  (loaded ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map(fold)),
  ))

/** Characters of a piece that adds nothing by being repeated. */
const maxRepeatedLength = 5

/** The shortest text that this one is nothing but repetitions of, the last one cut off perhaps; itself when it repeats none. */
function repeatedUnit(text: string): string {
  const characters = Array.from(text)
  for (let period = 1; period <= characters.length / 2; period++) {
    if (characters.every((character, index) => character === characters[index % period])) {
      return characters.slice(0, period).join('')
    }
  }
  return text
}

/** Keys beside each other on the keyboards of most people, and the alphabet. After the last comes the first. */
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
 * Do three of four characters stay on their key or go to the one beside it? Words do so one time in five, random digits
 * three times in ten.
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

/** Is nothing left of its letters when the names are taken out? Digits and punctuation between them help little. */
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

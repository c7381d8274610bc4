/** `Renewal date` becomes the key `renewalDate`. */
export const keyOf = (label: string): string => {
  const [first = '', ...others] = wordsOf(label)
  const key = [first, ...others.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('')
  return key.replace(/^[0-9_]+/, '').slice(0, 64)
}

/** `In progress` becomes `in_progress`. */
export const choiceValueOf = (label: string): string => wordsOf(label).join('_').slice(0, 100)

/** `renewalDate` becomes `Renewal date`. */
export function labelOfKey(key: string): string {
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .trim()
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const spelledOut: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss' }

const wordsOf = (label: string): string[] =>
  label
    .toLowerCase()
    .replaceAll(/[äöüß]/g, (letter) => spelledOut[letter] ?? letter)
    .normalize('NFD')
    .replaceAll(/\p{Mark}/gu, '')
    .split(/[^a-z0-9]+/)
    .filter(Boolean)

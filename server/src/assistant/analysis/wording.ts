import { amounts, months, weekdays, words } from './rules/dates/words.ts'
import { locales } from './rules/phrases.ts'

/**
 * Words that the title of a task or a summary may begin with or, in German, write with a capital letter, although the
 * note does not contain them.
 */
const ordinaryWords: ReadonlySet<string> = new Set(locales.flatMap((locale) => locale.ordinaryWords))
const otherDaysAndAmounts = locales.flatMap(({ relativeDays, largeNumbers, currencies }) => [
  ...relativeDays,
  ...largeNumbers,
  ...currencies,
])

/** `a` and `one` are hardly ever an amount. `may` is a month only with a capital letter. */
const isArticle = /^(?:an?|one|ein|eine[mnrs]?|eins|may)$/

/** Days and amounts, also in words. */
const daysAndAmounts = words([months, weekdays, amounts, ...otherDaysAndAmounts].join('|'))
/** Numbers, dates, times and versions, with the signs that belong to them. */
const figures = /[+-]?\p{N}(?:[\p{N}.,:/'’-]*\p{N})?/gu
const addresses = /\S*@\S*/gu
const signs = /[\p{Sc}%‰]/gu
const anyWord = /[\p{L}\p{N}]+/gu
const capital = /\p{Lu}/u
/** Scripts without capital letters, in which names look like other words. */
const caseless = /\p{Lo}/u

/**
 * Does the note say all that an engine's own words say: names, days, amounts and addresses? Words are names if they have
 * a capital letter and are not ordinary. Verbatim parts of the note are supported, with `…` for what was left out.
 */
export function isWordingSupported(wording: string, note: string): boolean {
  const said = simplified(note)
  const given = simplified(wording)
  if (given.split('…').every((part) => said.includes(part.trim()))) return true
  return (
    found(addresses, given).every((address) =>
      isWordIn(address.replace(/^[<(]+/, '').replace(/[>).,;:!?]+$/, ''), said),
    ) &&
    found(signs, given).every((sign) => said.includes(sign)) &&
    found(figures, given).every((figure) => isFigureIn(figure, said)) &&
    found(daysAndAmounts, given.toLowerCase())
      .filter((word) => !isArticle.test(word) && !/^\p{N}/u.test(word))
      .every((word) => isWordIn(word, said)) &&
    !caseless.test(given) &&
    found(anyWord, given)
      .filter((word) => capital.test(word))
      .every((word) => ordinaryWords.has(word.toLowerCase()) || isNameIn(word, said))
  )
}

const simplified = (text: string): string => text.normalize('NFC').replaceAll(/\s+/g, ' ').trim()

const found = (pattern: RegExp, text: string): string[] => [...text.matchAll(pattern)].map(([word]) => word)

const endings: ReadonlySet<string> = new Set(['e', 'en', 'er', 'es', 'n', 's'])

const edge = { word: /[\p{L}\p{N}_@]/u, figure: /\p{N}/u }

const isWordIn = (word: string, text: string): boolean => isWholeIn(word.toLowerCase(), text.toLowerCase(), edge.word)

/** `3` is not in `30`, in `1,300` or in `3.5`. */
function isFigureIn(figure: string, text: string): boolean {
  return found(figures, text).some((other) => other === figure || other.replace(/^[+-]/, '') === figure)
}

/** German names and nouns have endings: `Muster` is in `mit Mustern`, and `Müllers` in `von Müller`. */
function isNameIn(name: string, text: string): boolean {
  const wanted = name.toLowerCase()
  return found(anyWord, text.toLowerCase()).some((word) => {
    const [stem, longer] = word.length < wanted.length ? [word, wanted] : [wanted, word]
    return longer.startsWith(stem) && (longer === stem || (stem.length > 3 && endings.has(longer.slice(stem.length))))
  })
}

/** Does the text contain these words with no character around them that would belong to them? */
export function isWholeIn(wanted: string, text: string, part: RegExp): boolean {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const [before, after, second] = [
      text.charAt(at - 1),
      text.charAt(at + wanted.length),
      text.charAt(at + wanted.length + 1),
    ]
    // A full stop after an address ends the sentence, unless the address continues.
    const goesOn = after === '.' ? part.test(second) && second !== '.' : part.test(after)
    if (!part.test(before) && !goesOn) return true
  }
  return false
}

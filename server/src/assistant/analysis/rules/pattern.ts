// Phrases (server/data/phrases-en.json and -de.json) are written so that a person can read and extend them:
//   (a|b)   one of these words            word*   a word that begins like this
//   ...     up to six words              [a]     this word or nothing
//   #       a number
//   a_b     two words within (…)          don'?t  the character before `?` may be missing

const word = String.raw`[\p{L}\p{M}\d'@.+/-]`
const boundaryBefore = String.raw`(?<![\p{L}\p{M}\d])`
const boundaryAfter = String.raw`(?![\p{L}\p{M}\d])`
const gap = ` *[,:;(]? +(?:${word}+[,:;]? +){0,6}?`

/** One regular expression for all phrases, sticky-free and global. Quantifiers are bounded, so time is too. */
export const compilePhrases = (phrases: readonly string[]): RegExp =>
  new RegExp(`${boundaryBefore}(?:${phrases.map(sourceOf).join('|')})${boundaryAfter}`, 'gu')

function sourceOf(phrase: string): string {
  let source = ''
  // At the beginning and after a gap, which ends with a space, words bring the space behind them instead.
  let needsSpace = false
  for (const part of phrase.split(/ +/)) {
    const optional = /^\[(.+)\]$/.exec(part)?.[1]
    if (part === '...') source += gap
    else if (optional === undefined) source += (needsSpace ? ',? +' : '') + wordSource(part)
    else source += needsSpace ? `(?:,? +${wordSource(optional)})?` : `(?:${wordSource(optional)} +)?`
    needsSpace = part !== '...' && (needsSpace || optional === undefined)
  }
  return source
}

const wordSource = (part: string): string =>
  part
    .replaceAll('.', String.raw`\.`)
    .replaceAll('*', String.raw`[\p{L}\p{M}]*`)
    .replaceAll('#', String.raw`\d[\d:./-]*`)
    .replaceAll('(', '(?:')
    .replaceAll('_', ' +')

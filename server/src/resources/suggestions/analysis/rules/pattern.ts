// Phrases are written so that a person can read and extend them:
//   (a|b)   one of these words            word*   a word that begins like this
//   ...     up to five words              [a]     this word or nothing
//   #       a number
//   a_b     two words within (…)          don'?t  the character before `?` may be missing

const word = String.raw`[\p{L}\p{M}\d'@.+/-]`
const boundaryBefore = String.raw`(?<![\p{L}\p{M}\d])`
const boundaryAfter = String.raw`(?![\p{L}\p{M}\d])`
const gap = ` *[,:;(]? +(?:${word}+[,:;]? +){0,5}?`

/** One regular expression for all phrases, sticky-free and global. Quantifiers are bounded, so time is too. */
export const compilePhrases = (phrases: readonly string[]): RegExp =>
  new RegExp(`${boundaryBefore}(?:${phrases.map(sourceOf).join('|')})${boundaryAfter}`, 'gu')

function sourceOf(phrase: string): string {
  const parts = phrase.split(/ +/)
  let source = ''
  let previous: 'start' | 'word' | 'gap' | 'optional' = 'start'
  for (const part of parts) {
    if (part === '...') {
      source += gap
      previous = 'gap'
      continue
    }
    const optional = /^\[(.+)\]$/.exec(part)?.[1]
    if (optional !== undefined) {
      source += previous === 'start' ? `(?:${wordSource(optional)} +)?` : `(?:,? +${wordSource(optional)})?`
      if (previous !== 'start') previous = 'word'
      continue
    }
    source += (previous === 'word' ? ',? +' : '') + wordSource(part)
    previous = 'word'
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

import type { Span } from '../analysis.ts'

/** A sentence of a note, with its place in the note. */
export interface Sentence extends Span {
  /** The note's own words. */
  text: string
  /** In lower case, with simple spaces and quotes; each character is at the same offset as in `text`. */
  normal: string
  /** The first words of a note or a paragraph say more than those in the middle of a signature. */
  index: number
  /** The whole note is a quoted or forwarded text. */
  isQuoted: boolean
}

/** A text with single spaces, and its places in the original. */
export interface SimpleText {
  text: string
  originalOf(span: Span): Span
}

/**
 * Phrases and dates are written with single spaces, but notes have double ones, lines that mail programs wrap and indent,
 * and the line ends of Windows: spaces become one, and line ends lose those around them.
 */
export function withSingleSpaces(original: string): SimpleText {
  let text = ''
  let copied = 0
  /** Where the text continues after a shortened run: its offset there, and in the original. */
  const moves: { at: number; from: number }[] = []
  for (const { 0: run, index } of original.matchAll(/[^\S\n]*\n[^\S\n]*|[^\S\n]+/g)) {
    text += original.slice(copied, index) + (run.includes('\n') ? '\n' : ' ')
    copied = index + run.length
    if (run.length > 1) moves.push({ at: text.length, from: copied })
  }
  text += original.slice(copied)
  const offsetOf = (at: number): number => {
    const move = moves.findLast((one) => one.at <= at)
    return move ? move.from + at - move.at : at
  }
  // The end of a span is after its last character, not after the spaces that follow it.
  return { text, originalOf: ({ start, end }) => ({ start: offsetOf(start), end: offsetOf(end - 1) + 1 }) }
}

/** Bounds the time for a text of many tiny sentences. */
const maxSentences = 200

/** The sentences that the author wrote: without quoted mails and signatures. */
export function sentencesOf(text: string): Sentence[] {
  const written = withoutQuotes(text)
  const isQuoted = onlyForwards.test(written.trim())
  const own = isQuoted ? text : written
  return spansOf(own)
    .map(({ start, end }) => trimmed(own, start, end))
    .filter(({ start, end }) => /\p{L}/u.test(own.slice(start, end)))
    .slice(0, maxSentences)
    .map(({ start, end }, index) => {
      const part = own.slice(start, end)
      return { start, end, text: part, normal: normalized(part), index, isQuoted }
    })
}

/** The parts of a sentence in double quotation marks, as offsets in it. */
export const quotesIn = ({ normal }: Pick<Sentence, 'normal'>): Span[] =>
  [...normal.matchAll(/"[^"]{1,400}"/g)].map(({ index, 0: found }) => ({ start: index, end: index + found.length }))

/** Lower case where that has the same length, so that offsets stay valid. */
export function normalized(text: string): string {
  const lower = Array.from({ length: text.length }, (_, at) => lowerCased(text.charAt(at))).join('')
  return lower
    .replaceAll(/[\s\u00a0\u00ad]/g, ' ')
    .replaceAll(/[‘’`´]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[–—]/g, '-')
}

function lowerCased(character: string): string {
  const lower = character.toLowerCase()
  return lower.length === 1 ? lower : character
}

/** Lines from which on others speak: forwarded mails, signatures, the footers of mail programs. */
const ends: readonly RegExp[] = [
  /^-- ?\r?$/m,
  /^[ \t]*-{2,} ?(?:original message|ursprüngliche nachricht|forwarded message|weitergeleitete nachricht)/im,
  /^[ \t]*(?:from|von): [^\n]{1,200}\n[ \t]*(?:sent|date|gesendet|datum|to|an): /im,
  /^[ \t]*(?:sent from my|von meinem|gesendet mit) /im,
]

/** The line above a quoted mail; some programs break it in two. */
const quoteHeader =
  /^[ \t]*(?:on|am|le|el|il) [^\n]{5,120}(?:\n[^\n]{0,80})?(?:wrote|schrieb|a écrit|escribió|ha scritto)[^\n]{0,80}:[ \t]*\r?$/gim

/** Nothing of their own, or a word above what somebody else wrote. The text is trimmed. */
const onlyForwards = /^(?:(?:fwd?|wg|fyi|see below|siehe unten|s\.u|zur info|zur kenntnis)\s*[:.!-]*)?$/i

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ')

/** The text with quoted lines blanked, and without what follows it. Answers may be below or between the quotes. */
function withoutQuotes(text: string): string {
  const unquoted = text.replaceAll(/^[ \t]*[>|][^\n]*/gm, blank)
  let cut = Math.min(text.length, ...ends.map((pattern) => unquoted.search(pattern)).filter((at) => at >= 0))
  const own = unquoted.replaceAll(quoteHeader, (header, index: number) => {
    // Without marks at its lines, the quoted mail continues to the end.
    if (!/^\s*[>|]/.test(text.slice(index + header.length))) cut = Math.min(cut, index)
    return blank(header)
  })
  return own.slice(0, cut)
}

const abbreviations = new Set(
  'dr mr mrs ms hr fr prof st tel nr no bzw ca z.b e.g i.e evtl inkl incl approx ext dipl ing mo di mi do sa so art abs gem'.split(
    ' ',
  ),
)

/** Lines at least this long were probably wrapped, so the sentence continues on the next line. */
const wrappedLineLength = 55

/**
 * A text without full stops is cut at the next space, or in the middle of a long run of characters. The patterns may take the square
 * of a sentence's length, so this keeps the time for a note linear in the length of the note.
 */
const maxSentenceLength = 600
const maxWordLength = 100

function spansOf(text: string): Span[] {
  const spans: Span[] = []
  let start = 0
  for (const match of text.matchAll(/(?<![.!?…])[.!?…]+["')\]]*(?=\s|$)|\n|[^\S\n]/g)) {
    const end = match.index + match[0].length
    const isSpace = match[0] !== '\n' && match[0].trim() === ''
    if (isSpace && end - start < maxSentenceLength) continue
    if (match[0] === '\n' ? isWrapped(text, match.index) : continues(text, match.index, match[0])) continue
    spans.push(...cut({ start, end }))
    start = end
  }
  spans.push(...cut({ start, end: text.length }))
  return spans
}

function cut({ start, end }: Span): Span[] {
  const length = maxSentenceLength + maxWordLength
  if (end - start <= length) return [{ start, end }]
  return [{ start, end: start + length }, ...cut({ start: start + length, end })]
}

function isWrapped(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  const next = /^[ \t]*([^\n]*)/.exec(text.slice(at + 1, at + 200))?.[1] ?? ''
  return line.trim().length >= wrappedLineLength && next.trim() !== '' && !/^[-*•]/.test(next)
}

/** Is this full stop part of a date (`am 7. Dezember`, `5.12.`) or of an abbreviation? */
function continues(text: string, at: number, marks: string): boolean {
  if (marks !== '.') return false
  const word = /[\p{L}\d.]*$/u.exec(text.slice(Math.max(0, at - 24), at))?.[0] ?? ''
  if (/(?:^|\.)\d{1,2}$/.test(word)) return /^\. *[\p{L}\d(]/u.test(text.slice(at, at + 8))
  return abbreviations.has(word.toLowerCase())
}

function trimmed(text: string, start: number, end: number): Span {
  const part = text.slice(start, end)
  const leading = part.length - part.trimStart().length
  return { start: start + leading, end: start + Math.max(leading, part.trimEnd().length) }
}

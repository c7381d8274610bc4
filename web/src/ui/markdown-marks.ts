import type { Block } from './markdown-blocks.ts'
import { type Inline, partsOf } from './markdown-inline.ts'

/** Words of a Markdown text to highlight, and their offset in it. */
export interface MarkedWords {
  start: number
  text: string
}

/** From one character to before another. */
interface Range {
  start: number
  end: number
}

/** A part of a text, highlighted or not. */
export interface Piece {
  text: string
  isMarked: boolean
}

/** Splits the texts of a document; call it for each text in order. */
export type Marker = (text: string) => readonly Piece[]

export const markNothing: Marker = (text) => [{ text, isMarked: false }]

/** Highlights the words in the rendered text. Words that are not visible, such as an address, are skipped. */
export function markerFor(source: string, blocks: readonly Block[], marked: readonly MarkedWords[]): Marker {
  if (marked.length === 0) return markNothing
  const ranges = merged(rangesOf(source, blocks.flatMap(textsOf).join(''), marked))
  let from = 0
  return (text) => {
    const start = from
    from += text.length
    return split(text, start, ranges)
  }
}

/** The texts of a block as they are rendered. */
function textsOf(block: Block): string[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return partsOf(block.text).flatMap(textsOfPart)
    case 'code':
      return [block.text]
    case 'quote':
      return block.blocks.flatMap(textsOf)
    case 'list':
      return block.items.flatMap((item) => item.flatMap(textsOf))
    case 'rule':
      return []
  }
}

function textsOfPart(part: Inline): string[] {
  if (part.type === 'break') return []
  return 'parts' in part ? part.parts.flatMap(textsOfPart) : [part.text]
}

/** Compares letters and digits only, because Markdown's marks and line breaks are not rendered. */
function rangesOf(source: string, shown: string, marked: readonly MarkedWords[]): Range[] {
  const visible = lettersOf(shown)
  return marked.flatMap(({ start, text }) => {
    const words = lettersOf(text).letters
    if (words === '') return []
    const before = occurrencesOf(words, lettersOf(source.slice(0, start + text.length)).letters).length
    const found = occurrencesOf(words, visible.letters)
    const at = found[Math.min(Math.max(before, 1), found.length) - 1]
    if (at === undefined) return []
    const last = visible.places[at + words.length - 1] ?? 0
    return [{ start: visible.places[at] ?? 0, end: last + 1 }]
  })
}

/** The letters and digits of a text, and the position of each of their code units. */
function lettersOf(text: string): { letters: string; places: readonly number[] } {
  let letters = ''
  const places: number[] = []
  for (const { 0: letter, index } of text.matchAll(/[\p{L}\p{N}]/gu)) {
    letters += letter
    for (let unit = 0; unit < letter.length; unit++) places.push(index + unit)
  }
  return { letters, places }
}

function occurrencesOf(words: string, text: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + words.length)) found.push(at)
  return found
}

function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = []
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1)
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end)
    else result.push({ ...range })
  }
  return result
}

/** The pieces of a text that starts at an offset of the whole. */
function split(text: string, start: number, ranges: readonly Range[]): Piece[] {
  const pieces: Piece[] = []
  let done = 0
  const add = (end: number, isMarked: boolean) => {
    if (end > done) pieces.push({ text: text.slice(done, end), isMarked })
    done = Math.max(done, end)
  }
  for (const range of ranges) {
    if (range.end <= start || range.start >= start + text.length) continue
    add(Math.max(range.start - start, 0), false)
    add(Math.min(range.end - start, text.length), true)
  }
  add(text.length, false)
  return pieces
}

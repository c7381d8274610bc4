// Parses the part of Markdown that people use in notes. HTML is not supported and stays text.

export type Block =
  | { type: 'paragraph' | 'heading' | 'code'; text: string }
  | { type: 'quote'; blocks: readonly Block[] }
  | { type: 'list'; start: number | undefined; items: readonly (readonly Block[])[] }
  | { type: 'rule' }

/** Deeper quotes and lists stay text. */
const maxDepth = 6

/** The blocks of a Markdown text. */
export const blocksOf = (text: string): Block[] => parseBlocks(text.replaceAll('\t', '    ').split(/\r?\n/), 0)

function parseBlocks(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  for (let index = 0; index < lines.length;) {
    const line = lines[index] ?? ''
    const read = line.trim() === '' ? undefined : parseBlock(lines, index, depth)
    if (read) blocks.push(read.block)
    index = read?.end ?? index + 1
  }
  return blocks
}

interface Read {
  block: Block
  /** Index of the line after the block. */
  end: number
}

function parseBlock(lines: readonly string[], start: number, depth: number): Read {
  const line = lines[start] ?? ''
  const [, heading] = /^ {0,3}#{1,6} +(.*)$/.exec(line) ?? []
  if (heading !== undefined) return { block: { type: 'heading', text: heading }, end: start + 1 }
  if (isRule(line)) return { block: { type: 'rule' }, end: start + 1 }
  const fence = fenceOf(line)
  if (fence !== undefined) return parseCode(lines, start, fence)
  if (depth < maxDepth && isQuote(line)) return parseQuote(lines, start, depth)
  const marker = depth < maxDepth ? markerOf(line) : undefined
  if (marker) return parseList(lines, start, marker, depth)
  let end = start + 1
  while (end < lines.length && !endsParagraph(lines[end] ?? '', depth)) end++
  const text = lines
    .slice(start, end)
    .map((one) => one.trim())
    .join('\n')
  return { block: { type: 'paragraph', text }, end }
}

const isQuote = (line: string): boolean => /^ {0,3}>/.test(line)

const fenceOf = (line: string): string | undefined => /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]

function isRule(line: string): boolean {
  const marks = line.replaceAll(' ', '')
  return marks.length >= 3 && ['-', '*', '_'].some((mark) => marks === mark.repeat(marks.length))
}

const endsParagraph = (line: string, depth: number): boolean =>
  line.trim() === '' ||
  isRule(line) ||
  fenceOf(line) !== undefined ||
  /^ {0,3}#{1,6} /.test(line) ||
  (depth < maxDepth && (isQuote(line) || markerOf(line) !== undefined))

function parseCode(lines: readonly string[], start: number, fence: string): Read {
  let end = start + 1
  while (end < lines.length && !(lines[end] ?? '').trimStart().startsWith(fence)) end++
  return { block: { type: 'code', text: lines.slice(start + 1, end).join('\n') }, end: end + 1 }
}

function parseQuote(lines: readonly string[], start: number, depth: number): Read {
  let end = start
  while (end < lines.length && isQuote(lines[end] ?? '')) end++
  const inner = lines.slice(start, end).map((line) => line.replace(/^ {0,3}> ?/, ''))
  return { block: { type: 'quote', blocks: parseBlocks(inner, depth + 1) }, end }
}

interface Marker {
  /** The number of an ordered list. */
  number: number | undefined
  /** The column at which the item's text starts. */
  indent: number
}

function markerOf(line: string): Marker | undefined {
  const [, before = '', mark = '', space = ''] = /^( *)([-*+]|\d{1,9}[.)])( +|$)/.exec(line) ?? []
  if (mark === '' || isRule(line)) return undefined
  const number = /\d/.test(mark) ? Number.parseInt(mark, 10) : undefined
  return { number, indent: before.length + mark.length + Math.min(Math.max(space.length, 1), 4) }
}

/** Items follow each other, with or without empty lines between them; indented lines belong to the item above. */
function parseList(lines: readonly string[], start: number, first: Marker, depth: number): Read {
  const items: Block[][] = []
  let end = start
  for (let marker: Marker | undefined = first; marker;) {
    const { indent } = marker
    const inner = [(lines[end] ?? '').slice(indent)]
    end++
    for (; end < lines.length; end++) {
      const line = lines[end] ?? ''
      const isIndented = line.startsWith(' '.repeat(Math.min(indent, 2)))
      const isContinued = inner.at(-1) !== '' && !endsParagraph(line, depth)
      if (line.trim() !== '' && !isIndented && !isContinued) break
      inner.push(line.slice(Math.min(indent, line.length - line.trimStart().length)))
    }
    items.push(parseBlocks(inner, depth + 1))
    marker = markerOf(lines[end] ?? '')
    if (marker && (marker.number === undefined) !== (first.number === undefined)) break
  }
  return { block: { type: 'list', start: first.number, items }, end }
}

import { withoutMailHeaders } from './link-address.ts'
import { mentionAt } from './mentions.ts'

/** A part of a line: text, a line break, or a node with children. */
export type Inline =
  | { type: 'text' | 'code'; text: string }
  | { type: 'break' }
  | { type: 'strong' | 'emphasis' | 'deleted'; parts: readonly Inline[] }
  | { type: 'link'; href: string; parts: readonly Inline[] }
  | { type: 'mention'; userId: string; parts: readonly Inline[] }

/** The maximum distance to a closing mark, so that a text without one is fast. */
const maxLength = 2000
const maxDepth = 4

const delimiters = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'deleted'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
] as const

/** Addresses that open a page, a mail or a call. Others, such as `javascript:`, stay text. */
const safeAddress = /^(?:https?:\/\/|mailto:|tel:)[^\s<>"]+$/i

/** Parses a paragraph of Markdown. */
export function partsOf(text: string, depth = 0): Inline[] {
  const parts: Inline[] = []
  const searched: Searched = new Map()
  let plain = ''
  const add = (part: Inline) => {
    if (plain !== '') parts.push({ type: 'text', text: plain })
    plain = ''
    parts.push(part)
  }
  for (let index = 0; index < text.length;) {
    const found = depth < maxDepth ? partAt(text, index, depth, searched) : undefined
    if (found?.part) add(found.part)
    else plain += found?.text ?? text.charAt(index)
    index = found?.end ?? index + 1
  }
  if (plain !== '') parts.push({ type: 'text', text: plain })
  return parts
}

/** By mark: the position before which no closing mark exists, so that a long text is searched once. */
type Searched = Map<string, number>

interface Found {
  /** Undefined for plain text, such as an escaped character. */
  part?: Inline
  text?: string
  end: number
}

function partAt(text: string, index: number, depth: number, searched: Searched): Found | undefined {
  const character = text.charAt(index)
  const next = text.charAt(index + 1)
  if (character === '\n') return { part: { type: 'break' }, end: index + 1 }
  if (character === '\\' && /[!-/:-@[-`{-~]/.test(next)) return { text: next, end: index + 2 }
  if (character === '`') return codeAt(text, index)
  if (character === '[' || (character === '!' && next === '[')) return linkAt(text, index, depth)
  if (character === '@' && next === '[') return mentionedAt(text, index)
  if (character === 'h' || character === '<') return addressAt(text, index)
  return delimitedAt(text, index, depth, searched)
}

function codeAt(text: string, index: number): Found | undefined {
  const [ticks = '`'] = /^`+/.exec(text.slice(index, index + 10)) ?? []
  const from = index + ticks.length
  const end = text.slice(from, from + maxLength).indexOf(ticks)
  if (end <= 0) return { text: ticks, end: from }
  return { part: { type: 'code', text: text.slice(from, from + end).trim() }, end: from + end + ticks.length }
}

/** `[text](address)`. A picture becomes a link too, so that the page sends no requests to other hosts. */
function linkAt(text: string, index: number, depth: number): Found | undefined {
  const shown = text.slice(index, index + maxLength)
  const [whole, label, address] = /^!?\[([^[\]]*)\]\(([^\s()]*(?:\([^\s()]*\)[^\s()]*)?)\)/.exec(shown) ?? []
  if (whole === undefined || label === undefined || address === undefined || !safeAddress.test(address))
    return undefined
  const parts = label === '' ? [{ type: 'text' as const, text: address }] : partsOf(label, depth + 1)
  const href = withoutMailHeaders(address)
  return { part: { type: 'link', href, parts: parts.map(withoutLink) }, end: index + whole.length }
}

/** `@[Anna Berg](usr_…)` */
function mentionedAt(text: string, index: number): Found | undefined {
  const found = mentionAt(text, index)
  if (!found) return undefined
  const { name, userId, length } = found
  return { part: { type: 'mention', userId, parts: [{ type: 'text', text: `@${name}` }] }, end: index + length }
}

/** A link inside a link stays text. */
const withoutLink = (part: Inline): Inline =>
  part.type === 'link'
    ? { type: 'text', text: part.href }
    : 'parts' in part
      ? { ...part, parts: part.parts.map(withoutLink) }
      : part

/** `https://…`, also in angle brackets. Punctuation at its end belongs to the sentence. */
function addressAt(text: string, index: number): Found | undefined {
  const isBracketed = text.charAt(index) === '<'
  if (!isBracketed && /\w/.test(text.charAt(index - 1))) return undefined
  const from = isBracketed ? index + 1 : index
  const [found] = /^https?:\/\/[^\s<>"]+/.exec(text.slice(from, from + maxLength)) ?? []
  if (found === undefined || (isBracketed && text.charAt(from + found.length) !== '>')) return undefined
  const address = isBracketed ? found : withoutPunctuation(found)
  return {
    part: { type: 'link', href: address, parts: [{ type: 'text', text: address }] },
    end: from + address.length + (isBracketed ? 1 : 0),
  }
}

function withoutPunctuation(address: string): string {
  const shorter = address.replace(/[.,;:!?'*_~]+$/, '')
  return shorter.endsWith(')') && !shorter.includes('(') ? shorter.slice(0, -1) : shorter
}

function delimitedAt(text: string, index: number, depth: number, searched: Searched): Found | undefined {
  const [mark, type] = delimiters.find(([one]) => text.startsWith(one, index)) ?? []
  if (mark === undefined || type === undefined) return undefined
  const from = index + mark.length
  // `snake_case` is one word.
  const isInWord = mark.startsWith('_') && /\w/.test(text.charAt(index - 1))
  const end = /\s/.test(text.charAt(from)) || isInWord ? -1 : endOf(text, from, mark, searched)
  if (end === -1) return { text: mark, end: from }
  return { part: { type, parts: partsOf(text.slice(from, end), depth + 1) }, end: end + mark.length }
}

function endOf(text: string, from: number, mark: string, searched: Searched): number {
  const limit = Math.min(text.length, from + maxLength)
  const start = Math.max(from + 1, searched.get(mark) ?? 0)
  for (let end = text.indexOf(mark, start); end !== -1 && end < limit; end = text.indexOf(mark, end + 1)) {
    const isAfterSpace = /\s/.test(text.charAt(end - 1))
    const isInWord = mark.startsWith('_') && /\w/.test(text.charAt(end + mark.length))
    const isDouble = mark.length === 1 && (text.charAt(end + 1) === mark || text.charAt(end - 1) === mark)
    if (!isAfterSpace && !isInWord && !isDouble) return end
  }
  searched.set(mark, limit)
  return -1
}

import { plainMentions, withPlainMentions } from '../ui/mentions.ts'

/** Characters of context before and after the evidence. */
const context = 160

interface Excerpt {
  before: string
  words: string
  after: string
}

/** The evidence with its context in the note, as plain text on one line. The note may have changed meanwhile. */
export function excerptOf(source: string, evidence: { start: number; end: number; text: string }): Excerpt {
  if (source.slice(evidence.start, evidence.end) !== evidence.text)
    return { before: '', words: withPlainMentions(evidence.text), after: '' }
  const { text: note, indexOf } = plainMentions(source)
  const [start, end] = [indexOf(evidence.start), indexOf(evidence.end)]
  const text = note.slice(start, end)
  const before = note.slice(Math.max(start - context, 0), start)
  const after = note.slice(end, end + context)
  return {
    before: onOneLine(start > context ? `…${before.replace(/^\S*\s/, '')}` : before),
    words: onOneLine(text),
    after: onOneLine(end + context < note.length ? `${after.replace(/\s\S*$/, '')}…` : after),
  }
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

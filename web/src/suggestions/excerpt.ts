/** Characters of context before and after the evidence. */
const context = 160

interface Excerpt {
  before: string
  words: string
  after: string
}

/** The evidence with its context in the note, as plain text on one line. The note may have changed meanwhile. */
export function excerptOf(note: string, evidence: { start: number; end: number; text: string }): Excerpt {
  const { start, end, text } = evidence
  if (note.slice(start, end) !== text) return { before: '', words: text, after: '' }
  const before = note.slice(Math.max(start - context, 0), start)
  const after = note.slice(end, end + context)
  return {
    before: onOneLine(start > context ? `…${before.replace(/^\S*\s/, '')}` : before),
    words: onOneLine(text),
    after: onOneLine(end + context < note.length ? `${after.replace(/\s\S*$/, '')}…` : after),
  }
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

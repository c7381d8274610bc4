// A mention of a person in a Markdown text: `@[Anna Berg](usr_…)`.

const mention = String.raw`@\[([^[\]\n]{0,200})\]\((usr_[0-9a-f]{32})\)`
const mentionAtStart = new RegExp(`^${mention}`)
const allMentions = new RegExp(mention, 'g')

/** The longest mention. */
const maxLength = 300

export interface Mention {
  /** The name when the text was written; it may be empty. */
  name: string
  userId: string
  /** Its length in the text. */
  length: number
}

/** The mention that begins at an index of a text. */
export function mentionAt(text: string, index: number): Mention | undefined {
  const [whole, name, userId] = mentionAtStart.exec(text.slice(index, index + maxLength)) ?? []
  return whole === undefined || name === undefined || userId === undefined
    ? undefined
    : { name, userId, length: whole.length }
}

/** The text that mentions a person. Brackets in a name would end it early. */
export const mentionOf = (name: string, userId: string): string =>
  `@[${name.replaceAll('[', '(').replaceAll(']', ')').replaceAll(/\s+/g, ' ')}](${userId})`

/** The people that a text mentions, each once. */
export function mentionsIn(text: string): Omit<Mention, 'length'>[] {
  const found = new Map<string, string>()
  for (const [, name = '', userId = ''] of text.matchAll(allMentions)) if (!found.has(userId)) found.set(userId, name)
  return [...found].map(([userId, name]) => ({ userId, name }))
}

/** For texts that are shown as they are: `@Anna Berg`. */
export const withPlainMentions = (text: string): string => text.replaceAll(allMentions, '@$1')

interface PlainText {
  text: string
  /** The index in this text of a character of the source; inside a mention, the end of its name. */
  indexOf(index: number): number
}

/** The same with the places of what the source marks, such as evidence. */
export function plainMentions(source: string): PlainText {
  const found = [...source.matchAll(allMentions)].map(({ 0: whole, 1: name = '', index }) => ({
    start: index,
    end: index + whole.length,
    length: name.length + 1,
  }))
  return {
    text: withPlainMentions(source),
    indexOf: (index) =>
      found
        .filter(({ start }) => start < index)
        .reduce((sum, { start, end, length }) => {
          const passed = Math.min(index, end) - start
          // Between `@` and the name is a bracket.
          return sum - passed + Math.min(passed === 1 ? 1 : passed - 1, length)
        }, index),
  }
}

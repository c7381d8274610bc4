import { decodeId } from '../platform/model/ids.ts'

/** A Markdown link to a person: `@[Anna Berg](usr_…)`. */
const mention = /@\[[^\]\n]{1,200}\]\((usr_[0-9a-f]{32})\)/g

/** More than these in one note are not mentions but a list of people. */
const maxMentions = 50

/** The people (uuids) that a text mentions. */
export function mentionsIn(text: string): string[] {
  const ids = [...text.matchAll(mention)].flatMap(([, id = '']) => decodeId('usr', id) ?? [])
  return [...new Set(ids)].slice(0, maxMentions)
}

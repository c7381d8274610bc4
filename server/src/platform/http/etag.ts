import { hash } from 'node:crypto'
import { invalidParameters } from '../model/errors.ts'

/** Characters of base64url kept of a hash: 96 bits. */
const hashLength = 16

/** The strong tag of one record: its revision, and a hash of the text because an embedded record may change alone. */
export const recordTag = (revision: number, text: string): string => `"${revision}-${digest(text)}"`

/** The weak tag of a list, or of any text that has no revision. */
export const listTag = (text: string): string => `W/"${digest(text)}"`

/** If-None-Match by weak comparison: true when no tag of the header is `tag`, false when the answer is 304. */
export function matchesNone(header: string, tag: string): boolean {
  if (header === tag) return false
  const tags = parseTags('If-None-Match', header)
  return tags !== 'any' && !tags.includes(opaque(tag))
}

/** Refuses a header that is no list of entity tags: 400. */
export const checkEntityTags = (name: string, header: string): void => void parseTags(name, header)

/**
 * If-Match as the revisions it names. Only the revision counts, so a tag that a proxy weakened is as good; a tag
 * without a revision names none, and an empty list matches nothing.
 */
export function revisionsOf(header: string): 'any' | number[] {
  const tags = parseTags('If-Match', header)
  if (tags === 'any') return 'any'
  return tags.flatMap((tag) => {
    const revision = revisionPattern.exec(tag)?.[1]
    return revision === undefined ? [] : [Number(revision)]
  })
}

/** A list's tag is shorter than the shortest match and can never be taken for a revision. */
const revisionPattern = new RegExp(`^(\\d{1,15})-[\\w-]{${hashLength}}`)

const digest = (text: string): string => hash('sha1', text, 'base64url').slice(0, hashLength)

/** What stands between the quotes. */
const opaque = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1)

/** RFC 9110 section 8.8.3; commas may stand within the quotes. */
const tagPattern = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/y
const separatorPattern = /[\t ]*(?:,[\t ]*)+|[\t ]*$/y

/** The opaque parts of the header's tags; whether they are weak matters to neither comparison of ours. */
function parseTags(name: string, header: string): 'any' | string[] {
  const text = header.trim()
  if (text === '*') return 'any'
  const tags: string[] = []
  // Empty elements are allowed in a list (RFC 9110 section 5.6.1).
  let position = /^[\t ,]*/.exec(text)?.[0].length ?? 0
  while (position < text.length) {
    tagPattern.lastIndex = position
    const tag = tagPattern.exec(text)?.[1]
    if (tag === undefined) throw malformedTags(name)
    separatorPattern.lastIndex = tagPattern.lastIndex
    if (!separatorPattern.test(text)) throw malformedTags(name)
    tags.push(tag)
    position = separatorPattern.lastIndex
  }
  if (tags.length === 0) throw malformedTags(name)
  return tags
}

const malformedTags = (field: string) =>
  invalidParameters([{ field, message: 'expected * or a list of quoted entity tags, as sent in ETag' }])

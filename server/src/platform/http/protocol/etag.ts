import { hash } from 'node:crypto'
import { invalidParameters } from '../../model/errors.ts'
import type { RouteResponse } from '../route.ts'

/** Length of the base64url hash: 96 bits. */
const hashLength = 16

/** The strong tag of a record: its revision, and a hash of the text because an embedded record may change alone. */
export const recordTag = (revision: number, text: string | Uint8Array): string => `"${revision}-${digest(text)}"`

/** The weak tag of a list, or of any text that has no revision. */
export const listTag = (text: string | Uint8Array): string => `W/"${digest(text)}"`

/** Adds the tag of a record or, without a revision, of anything else, unless the response has one. */
export function withEntityTag(response: RouteResponse): RouteResponse {
  if (response.text === undefined || response.headers?.etag !== undefined) return response
  return { ...response, headers: { ...response.headers, etag: tagOf(response, response.text) } }
}

const tagOf = ({ revision }: RouteResponse, text: string | Uint8Array): string =>
  revision === undefined ? listTag(text) : recordTag(revision, text)

/** Length of a text, from which on encoding it only once costs less than leaving that to the writing of the response. */
const longText = 2000

/** The headers and the content to send, with a tag as above, which needs the bytes of the content, too. */
export function encode(response: RouteResponse): {
  headers: Record<string, string>
  content: string | Buffer | undefined
} {
  const { text, headers = {} } = response
  if (text === undefined) return { headers, content: undefined }
  const content = text.length < longText ? text : Buffer.from(text)
  return { headers: headers.etag === undefined ? { ...headers, etag: tagOf(response, content) } : headers, content }
}

/** Weak comparison with If-None-Match: true if no tag matches, false if the response is 304. */
export function matchesNone(header: string, tag: string): boolean {
  if (header === tag) return false
  const tags = parseTags('If-None-Match', header)
  return tags !== 'any' && !tags.includes(opaque(tag))
}

/** Throws 400 unless the header is a list of entity tags. */
export const checkEntityTags = (name: string, header: string): void => void parseTags(name, header)

/** The revisions in If-Match, also of tags that a proxy has weakened. An empty list matches nothing. */
export function revisionsOf(header: string): 'any' | number[] {
  const tags = parseTags('If-Match', header)
  if (tags === 'any') return 'any'
  return tags.flatMap((tag) => {
    const revision = revisionPattern.exec(tag)?.[1]
    return revision === undefined ? [] : [Number(revision)]
  })
}

/** A list's tag is shorter than the shortest match, so it is never taken for a revision. */
const revisionPattern = new RegExp(`^(\\d{1,15})-[\\w-]{${hashLength}}`)

const digest = (text: string | Uint8Array): string => hash('sha1', text, 'base64url').slice(0, hashLength)

const opaque = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1)

/** RFC 9110 section 8.8.3; the quoted part may contain commas. */
const tagPattern = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/y
const separatorPattern = /[\t ]*(?:,[\t ]*)+|[\t ]*$/y

/** The opaque parts of the tags. Weakness is ignored in both comparisons. */
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

import { ApiError } from '../../model/errors.ts'

export interface RequestContentHeaders {
  contentType: string | undefined
  contentEncoding: string | undefined
  accept: string | undefined
  method: string
  /** The media types that the route accepts, in lower case; empty if it has no body. */
  allowed: readonly string[]
}

export interface MediaType {
  /** `type/subtype` in lower case. */
  essence: string
  /** In lower case; undefined if not specified. */
  charset: string | undefined
}

/** Rejects unsupported bodies (415) and callers that do not accept JSON (406). `allowed` is empty without a body. */
export function negotiateContent({
  contentType,
  contentEncoding,
  accept,
  method,
  allowed,
}: RequestContentHeaders): void {
  if (bodyMethods.has(method)) {
    checkEncoding(contentEncoding)
    if (allowed.length > 0) checkContentType(contentType, allowed)
  }
  if (accept !== undefined && !acceptsJson(accept))
    throw new ApiError('not_acceptable', 'The response is application/json, which the Accept header excludes.')
}

/** The media type of a Content-Type header; undefined if it is invalid. */
export function parseMediaType(header: string): MediaType | undefined {
  const text = header.trim()
  const essence = matchAt(essencePattern, text, 0)
  if (!essence) return undefined
  const parameters = parseParameters(text, essence.end)
  if (parameters.end !== text.length) return undefined
  return { essence: (essence.groups[0] ?? '').toLowerCase(), charset: parameters.values.get('charset')?.toLowerCase() }
}

/** Is it a label of UTF-8 (WHATWG Encoding Standard) or of ASCII, whose text is the same in UTF-8, or absent? */
export const isUtf8 = (charset: string | undefined): boolean =>
  charset === undefined || utf8Labels.has(charset.trim().replace(/^'(.*)'$/, '$1'))

const utf8Labels: ReadonlySet<string> = new Set(
  'utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 us-ascii ascii ansi_x3.4-1968 iso646-us'.split(
    ' ',
  ),
)

export const acceptsJson = (header: string): boolean => header.trim() === '' || qualityOf(header, jsonRanges) > 0

/** Does the Accept header name text/html and prefer it to application/json? Wildcards do not count. */
export const prefersHtml = (header: string): boolean => qualityOf(header, htmlRanges) > qualityOf(header, jsonRanges)

/** The most specific range decides (RFC 9110 section 12.5.1). Other parameters and invalid ranges are ignored. */
function qualityOf(header: string, ranges: ReadonlyMap<string, number>): number {
  let [best, quality] = [-1, 0]
  let position = 0
  while (position < header.length) {
    const range = matchAt(rangePattern, header, position)
    const parameters = parseParameters(header, range?.end ?? position)
    const end = matchAt(elementEnd, header, parameters.end)
    const specificity = end?.groups[0] === '' ? ranges.get((range?.groups[0] ?? '').toLowerCase()) : undefined
    if (specificity !== undefined) {
      const q = Number(parameters.values.get('q') ?? 1)
      const given = Number.isNaN(q) ? 1 : q
      if (specificity > best) [best, quality] = [specificity, given]
      else if (specificity === best) quality = Math.max(quality, given)
    }
    position = end?.end ?? header.length
  }
  return quality
}

const bodyMethods = new Set(['POST', 'PUT', 'PATCH'])

export const compressedBodyMessage = 'Compressed bodies are not supported; send the body uncompressed.'

function checkEncoding(header: string | undefined): void {
  if (isUncompressed(header)) return
  throw new ApiError('unsupported_media_type', compressedBodyMessage, { headers: { 'accept-encoding': 'identity' } })
}

export function isUncompressed(contentEncoding: string | undefined): boolean {
  const codings = (contentEncoding ?? '').split(',').map((coding) => coding.trim().toLowerCase())
  return codings.every((coding) => coding === '' || coding === 'identity')
}

function checkContentType(header: string | undefined, allowed: readonly string[]): void {
  const type = parseMediaType(header ?? '')
  const isAllowed = type !== undefined && allowed.includes(type.essence)
  if (isAllowed && isUtf8(type.charset)) return
  const expected = allowed.join(' or ')
  const description = isAllowed
    ? `The body must be in UTF-8; this Content-Type names a different character set.`
    : header === undefined
      ? `The Content-Type header is missing; expected ${expected}.`
      : `The Content-Type is not supported here; expected ${expected}.`
  throw new ApiError('unsupported_media_type', description, { headers: { accept: allowed.join(', ') } })
}

const token = "[!#$%&'*+.^_`|~\\w-]+"
const essencePattern = new RegExp(`[\\t ]*(${token}/${token})`, 'y')
/** Old Java clients send `*` for any type. */
const rangePattern = new RegExp(`[\\t ]*(${token}/${token}|\\*)`, 'y')
const parameterPattern = new RegExp(`[\\t ]*;[\\t ]*(?:(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?`, 'y')
const elementEnd = /[\t ]*([^,]*)(?:,|$)/y

/** Media ranges that include application/json, by their specificity. */
const jsonRanges = new Map([
  ['*', 0],
  ['*/*', 0],
  ['application/*', 1],
  ['application/json', 2],
])
const htmlRanges = new Map([['text/html', 0]])

interface Match {
  groups: (string | undefined)[]
  end: number
}

function matchAt(pattern: RegExp, text: string, position: number): Match | undefined {
  pattern.lastIndex = position
  const match = pattern.exec(text)
  return match ? { groups: match.slice(1), end: pattern.lastIndex } : undefined
}

function parseParameters(text: string, start: number): { values: Map<string, string>; end: number } {
  const values = new Map<string, string>()
  let end = start
  for (;;) {
    const match = matchAt(parameterPattern, text, end)
    if (!match) return { values, end }
    const [name, plain, quoted] = match.groups
    if (name !== undefined) values.set(name.toLowerCase(), plain ?? (quoted ?? '').replace(/\\(.)/g, '$1'))
    end = match.end
  }
}

import {
  compressedBodyMessage,
  isUncompressed,
  isUtf8,
  parseMediaType,
} from '../../platform/http/protocol/content-negotiation.ts'
import { parseJsonWithLongNumbers } from '../../platform/http/protocol/json.ts'
import { ApiError, invalidParameters } from '../../platform/model/errors.ts'
import type { JsonValue } from '../../platform/model/json.ts'

export interface PushBody {
  payload: JsonValue
  /** The JSON to store. */
  bytes: Uint8Array
}

/** The headers that describe a body. */
export interface ContentHeaders {
  contentType: string | undefined
  contentEncoding: string | undefined
}

/**
 * Parses the body of a push. Many senders cannot set their headers, so JSON is read whatever they say. Its syntax is
 * checked strictly. The contract has no 422 here, so JSON that cannot be stored as sent is a 400 too.
 */
export function parsePushBody(sent: Uint8Array, headers: ContentHeaders): PushBody {
  checkCharset(sent, headers)
  try {
    return readBody(sent)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (!isUncompressed(headers.contentEncoding))
      throw invalidParameters([{ field: 'Content-Encoding', message: compressedBodyMessage }])
    if (error.status === 422) throw invalidParameters(error.details ?? [])
    if (!isJsonType(headers.contentType) && !looksLikeJson(sent))
      throw invalidParameters([{ field: 'Content-Type', message: notJson }])
    throw error
  }
}

const notJson =
  'the body is not JSON; send the lead as a JSON object, such as {"contact": {"email": "ada@example.com"}}, with Content-Type: application/json'

function readBody(sent: Uint8Array): PushBody {
  const { value, text } = parseJsonWithLongNumbers(sent)
  const payload = value as JsonValue
  const [first, ...others] = Array.isArray(payload) ? payload : []
  // Some senders wrap each event in a list.
  if (first !== undefined && others.length === 0) return { payload: first, bytes: Buffer.from(JSON.stringify(first)) }
  const isAsSent = text.length === sent.length || Buffer.byteLength(text) === sent.length
  return { payload, bytes: isAsSent ? sent : Buffer.from(text) }
}

/** ASCII text is the same in nearly every character set. */
function checkCharset(sent: Uint8Array, { contentType }: ContentHeaders): void {
  const charset = parseMediaType(contentType ?? '')?.charset
  if (!isUtf8(charset) && sent.some((byte) => byte > 0x7f))
    throw invalidParameters([{ field: 'Content-Type', message: 'names a character set other than UTF-8' }])
}

/** True without a type. */
function isJsonType(header: string | undefined): boolean {
  if (header === undefined || header.trim() === '') return true
  const essence = parseMediaType(header)?.essence ?? ''
  return essence === 'application/json' || essence.endsWith('+json')
}

/** Is the first character, after spaces and a byte order mark, that of an object or a list? */
const looksLikeJson = (sent: Uint8Array): boolean =>
  /^[\s\ufeff]*[[{]/.test(Buffer.from(sent.subarray(0, 1024)).toString())

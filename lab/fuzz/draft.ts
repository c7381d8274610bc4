import { copyOf, type Json, textOf } from './json.ts'
import type { Operation } from './document.ts'

/** How the body length is declared. All but the first three are invalid. */
export type Framing = 'none' | 'length' | 'chunked' | 'too long' | 'too short' | 'both' | 'bad chunk' | 'two lengths'

/** A request in parts that can be changed and removed. */
export interface Draft {
  /** Its number in the run; with the seed, it determines the request except for record ids. */
  number: number
  /** The operation for which it was generated. */
  operation: Operation
  method: string
  /** As sent over the wire; one character per byte. */
  path: string
  /** `name=value`, as sent over the wire. */
  query: string[]
  /** Complete header lines. */
  headers: string[]
  body: Json | Buffer | undefined
  framing: Framing
  version: string
  lineEnd: string
  /** The mutations applied to the valid request. */
  changes: string[]
}

export const copyOfDraft = (draft: Draft): Draft => ({
  ...draft,
  query: [...draft.query],
  headers: [...draft.headers],
  body: draft.body === undefined || Buffer.isBuffer(draft.body) ? draft.body : copyOf(draft.body),
  changes: [...draft.changes],
})

/**
 * Whether the request is invalid HTTP/1.1. The next request on its connection might then get a wrong response.
 */
export const isMalformed = ({ framing, version, lineEnd, headers }: Draft): boolean =>
  !['none', 'length', 'chunked'].includes(framing) ||
  version !== 'HTTP/1.1' ||
  lineEnd !== '\r\n' ||
  headers.some((line) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\P{Cc}]*$/u.test(line)) ||
  headers.some((line) => /^(?:host|connection|content-length|transfer-encoding|expect|upgrade) *:/i.test(line))

export const targetOf = ({ path, query }: Draft): string => (query.length > 0 ? `${path}?${query.join('&')}` : path)

export function bodyBytesOf({ body }: Draft): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  return Buffer.isBuffer(body) ? body : Buffer.from(textOf(body))
}

/**
 * The request as sent over the wire, with a Host header unless the draft has one.
 */
export function bytesOf(draft: Draft, host: string): Buffer {
  const { method, version, headers, lineEnd } = draft
  const body = frameBody(draft)
  const hostLine = headers.some((line) => /^host *:/i.test(line)) ? [] : [`Host: ${host}`]
  const lines = [`${method} ${targetOf(draft)} ${version}`, ...hostLine, ...headers, ...body.headers, '', '']
  return Buffer.concat([Buffer.from(lines.join(lineEnd), 'latin1'), body.bytes])
}

function frameBody(draft: Draft): { headers: string[]; bytes: Buffer } {
  const bytes = bodyBytesOf(draft)
  const length = (value: number) => `Content-Length: ${value}`
  const chunked = 'Transfer-Encoding: chunked'
  switch (draft.framing) {
    case 'none':
      return { headers: [], bytes: Buffer.alloc(0) }
    case 'length':
      return { headers: [length(bytes.length)], bytes }
    case 'chunked':
      return { headers: [chunked], bytes: inChunks(bytes) }
    case 'too long':
      return { headers: [length(bytes.length + 10)], bytes }
    case 'too short':
      return { headers: [length(Math.max(0, bytes.length - 3))], bytes }
    case 'both':
      return { headers: [length(bytes.length), chunked], bytes: inChunks(bytes) }
    case 'bad chunk':
      return { headers: [chunked], bytes: Buffer.concat([Buffer.from('zz\r\n'), bytes]) }
    case 'two lengths':
      return { headers: [length(bytes.length), length(bytes.length + 1)], bytes }
  }
}

function inChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let start = 0, size = 1; start < bytes.length; start += size, size = Math.min(size * 3, 8192)) {
    const chunk = bytes.subarray(start, start + size)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

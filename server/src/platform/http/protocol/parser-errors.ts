import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { newId, encodeId } from '../../model/ids.ts'
import { ApiError } from '../../model/errors.ts'
import { headersTooLarge, maxUrlLength, urlTooLong } from '../limits/request-limits.ts'

/** Milliseconds for a rejected caller to read the response; its remaining data is discarded. */
const linger = 2000

interface ParserError {
  code?: string
  /** The last data read from the connection, a buffer. */
  rawPacket?: unknown
}

interface ParserErrorOptions {
  version: string
  securityHeaders: Readonly<Record<string, string>>
  log: Logger
}

interface RequestPair {
  request: IncomingMessage
  response: ServerResponse
}

/** Responds to requests that Node's parser rejects, in our error format, after the connection's earlier responses. */
export class ParserErrorHandler {
  readonly #version: string
  readonly #securityHeaders: Readonly<Record<string, string>>
  readonly #log: Logger
  readonly #latest = new WeakMap<Duplex, RequestPair>()

  constructor({ version, securityHeaders, log }: ParserErrorOptions) {
    this.#version = version
    this.#securityHeaders = securityHeaders
    this.#log = log
  }

  watch(server: Server): void {
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#latest.set(request.socket, { request, response })
    })
    server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
      this.#respond(socket, malformed('This is not a proxy: CONNECT is not supported.'))
    })
    // An unknown expectation is ignored (RFC 9110 section 10.1.1 allows that).
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  handle(error: ParserError, socket: Socket): void {
    if (socket.writableEnded) return
    // A browser that opened the connection in advance would take an answer for that to its first request.
    const isUnused = socket.bytesRead === 0
    if (error.code === 'ECONNRESET' || isUnused || !socket.writable) {
      socket.destroy()
      return
    }
    const latest = this.#latest.get(socket)
    const respond = () => this.#respond(socket, toApiError(error))
    const mustWait = latest?.request.complete && !latest.response.writableFinished
    if (mustWait) latest.response.once('finish', respond)
    // The error is in the body of a request that has already been answered.
    else if (latest && !latest.request.complete && latest.response.headersSent) socket.destroySoon()
    else respond()
  }

  #respond(socket: Duplex, apiError: ApiError): void {
    if (socket.writableEnded) return
    const requestId = encodeId('req', newId())
    this.#log.info({ requestId, route: 'unparsed', status: apiError.status }, 'request')
    const body = JSON.stringify(apiError.body())
    const head = [
      `HTTP/1.1 ${apiError.status} ${phrases[apiError.status] ?? 'Bad Request'}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      `Version: ${this.#version}`,
      'Cache-Control: no-store',
      ...Object.entries(this.#securityHeaders).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
    setTimeout(() => socket.destroy(), linger).unref()
  }
}

const phrases: Record<number, string> = { 414: 'URI Too Long', 431: 'Request Header Fields Too Large' }

const longFirstLine = new RegExp(`^[A-Z-]+ \\S{${maxUrlLength}}`)

const malformed = (description: string) => new ApiError('malformed_request', description)

function toApiError({ code, rawPacket }: ParserError): ApiError {
  // The parser counts the URL and the headers together.
  if (code === 'HPE_HEADER_OVERFLOW') {
    const packet = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : ''
    return longFirstLine.test(packet) ? urlTooLong() : headersTooLarge()
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return malformed('The complete request did not arrive in time.')
  return malformed('This is not a valid HTTP request.')
}

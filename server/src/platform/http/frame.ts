import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ApiError, invalidParameters } from './errors.ts'
import { checkRequestMedia, pushMediaFaults } from './media.ts'
import type { Route } from './route.ts'

/** Bytes of a request's parts (docs/errors.md names them to callers). */
export const largestBody = 1024 * 1024
export const longestUrl = 8 * 1024
const largestHeaders = 16 * 1024

/** The limits of every request, also of one that no route takes. */
export function checkLimits(request: FastifyRequest): void {
  const { headers, raw } = request
  if ((raw.url ?? '').length > longestUrl) throw urlTooLong()
  if (raw.rawHeaders.reduce((sum, text) => sum + text.length, 0) > largestHeaders) throw headersTooLarge()
  // It would be cut off unseen.
  if (raw.url?.includes('#')) throw new ApiError('malformed_request', 'The URL holds a fragment; "#" is written %23.')
  if (headers.host === undefined && raw.httpVersion !== '1.0') {
    throw new ApiError('malformed_request', 'A Host header is needed.')
  }
  if (Number(headers['content-length'] ?? 0) > largestBody) throw tooLarge()
}

/** The media that a route takes and gives; without a route, what any of them may take. */
export function checkMedia(route: Route | undefined, request: FastifyRequest): void {
  const { headers, method } = request
  if (route?.kind === 'push') {
    const faults = pushMediaFaults(headers['content-type'], headers['content-encoding'])
    if (faults.length > 0) throw invalidParameters(faults)
    return
  }
  const sendsBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  const takesBody = route === undefined || (route.kind !== 'read' && route.body !== undefined)
  const merge = method === 'PATCH' ? ['application/merge-patch+json'] : []
  const isText = Object.values(route?.answers ?? {}).some(({ kind }) => kind === 'text')
  checkRequestMedia({
    method,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    accept: isText ? undefined : headers.accept,
    allowed: sendsBody && takesBody ? ['application/json', ...merge] : [],
  })
}

/** The whole body; 413 as soon as it is too large. By events: an iterator costs as much as reading the JSON. */
export function readBytes(stream: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length <= largestBody) {
        chunks.push(chunk)
        return
      }
      // Closing now would cost the caller the answer: what still comes is let go by, until the request's time is over.
      stream.off('data', take).resume()
      reject(tooLarge())
    }
    const cutOff = () => {
      if (!stream.readableEnded) reject(new ApiError('malformed_request', 'The connection ended before the body did.'))
    }
    if (stream.destroyed) cutOff()
    stream
      .on('data', take)
      .once('end', () => resolve(Buffer.concat(chunks)))
      .once('error', cutOff)
      .once('close', cutOff)
  })
}

export const urlTooLong = (): ApiError => new ApiError('uri_too_long', 'A URL may have at most 8 KiB.')

export const headersTooLarge = (): ApiError =>
  new ApiError('headers_too_large', 'The headers may have at most 16 KiB in all.')

const tooLarge = () => new ApiError('payload_too_large', 'A body may have at most 1 MiB.')

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../model/errors.ts'
import { maxBodyBytesFor, bodyTooLarge } from './request-limits.ts'
import { addressKey } from './rate-limit.ts'
import type { ServedRoute, RequestContext } from '../route.ts'

/** Reads the whole body, once. Throws 413 as soon as it is too large, and 503 while too many bodies are in memory. */
export async function readBytes(route: Pick<ServedRoute, 'kind'>, request: FastifyRequest): Promise<Uint8Array> {
  const { requestContext } = request
  return (requestContext.bytes ??= await collect(request, maxBodyBytesFor(route)))
}

const initialBufferBytes = 4096

/** Whose share of the memory a body takes: all keys of an organization have one, and all its imports another. */
function callerOf({ isPush, organization, credential }: RequestContext, address: string): string {
  if (organization !== undefined) return isPush ? `pushes of ${organization}` : organization
  return credential ?? addressKey(address)
}

/** Events, because an iterator costs as much as parsing; one buffer, because a tiny chunk takes hundreds of bytes. */
function collect({ raw: stream, requestContext, address }: FastifyRequest, limit: number): Promise<Uint8Array> {
  const announced = Number(stream.headers['content-length'] ?? limit)
  return new Promise((resolve, reject) => {
    const rejectBody = (error: unknown) => {
      // Closing the connection now could lose the response, so the rest of the body is discarded until the request
      // times out.
      stream.off('data', onData).resume()
      requestContext.beginning = Buffer.from(buffer.subarray(0, Math.min(length, maxBeginning)))
      buffer = emptyBuffer
      reject(error)
    }
    const reservation = requestContext.budget.open(callerOf(requestContext, address), rejectBody)
    requestContext.bodyReservation = reservation
    let buffer = emptyBuffer
    let length = 0
    const onData = (chunk: Buffer) => {
      const needed = length + chunk.length
      if (needed > limit) return rejectBody(bodyTooLarge(limit))
      if (needed > buffer.length) {
        const size = Math.min(Math.max(needed, 2 * buffer.length, initialBufferBytes), Math.max(needed, announced))
        try {
          reservation.reserve(size - buffer.length)
        } catch (error) {
          return rejectBody(error)
        }
        const larger = Buffer.allocUnsafe(size)
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      chunk.copy(buffer, length)
      length = needed
    }
    const onEarlyClose = () => {
      if (!stream.readableEnded)
        reject(new ApiError('malformed_request', 'The connection closed before the whole body arrived.'))
    }
    if (stream.destroyed) onEarlyClose()
    stream
      .on('data', onData)
      .once('end', () => {
        reservation.finish()
        resolve(buffer.subarray(0, length))
      })
      .once('error', onEarlyClose)
      .once('close', onEarlyClose)
  })
}

const emptyBuffer = Buffer.alloc(0)
const maxBeginning = 64 * 1024

/** The beginning of the body, even if it was refused before it was read. Never rejects. */
export function bodyBeginning(
  request: FastifyRequest,
  limit: number,
): Promise<{ bytes: Buffer; isTruncated: boolean }> {
  const { requestContext, raw: stream } = request
  const { bytes, beginning } = requestContext
  if (bytes) return Promise.resolve({ bytes: Buffer.from(bytes.subarray(0, limit)), isTruncated: bytes.length > limit })
  if (beginning) return Promise.resolve({ bytes: beginning.subarray(0, limit), isTruncated: true })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = () => {
      stream.off('data', onData).off('end', end).off('error', end).off('close', end).resume()
      resolve({ bytes: Buffer.concat(chunks).subarray(0, limit), isTruncated: length > limit || !stream.readableEnded })
    }
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > limit) end()
    }
    if (stream.destroyed || stream.readableEnded) end()
    else stream.on('data', onData).once('end', end).once('error', end).once('close', end)
  })
}

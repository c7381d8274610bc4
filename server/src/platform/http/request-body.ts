import type { FastifyRequest } from 'fastify'
import { ApiError } from '../model/errors.ts'
import { largestBodyOf, tooLarge } from './frame.ts'
import { addressKey } from './rate-limit.ts'
import type { ServedRoute } from './route.ts'

/** The whole body, read once. Errors: 413 as soon as it is too large, 503 while too many bodies are held. */
export async function readBytes(route: Pick<ServedRoute, 'kind'>, request: FastifyRequest): Promise<Uint8Array> {
  const { progress } = request
  return (progress.bytes ??= await collect(request, largestBodyOf(route)))
}

/** Bytes that a body begins with before more are asked for. */
const firstBytes = 4096

/**
 * By events: an iterator costs as much as reading the JSON. Into one buffer, because a chunk may hold one byte and costs
 * a few hundred.
 */
function collect({ raw: stream, progress, address }: FastifyRequest, limit: number): Promise<Uint8Array> {
  const announced = Number(stream.headers['content-length'] ?? limit)
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      // Closing now would cost the caller the answer: what still comes is let go by, until the request's time is over.
      stream.off('data', take).resume()
      buffer = nothing
      reject(error)
    }
    const held = progress.budget.open(progress.credential ?? addressKey(address), refuse)
    progress.held = held
    let buffer = nothing
    let length = 0
    const take = (chunk: Buffer) => {
      const needed = length + chunk.length
      if (needed > limit) return refuse(tooLarge(limit))
      if (needed > buffer.length) {
        const size = Math.min(Math.max(needed, 2 * buffer.length, firstBytes), Math.max(needed, announced))
        try {
          held.grow(size - buffer.length)
        } catch (error) {
          return refuse(error)
        }
        const larger = Buffer.allocUnsafe(size)
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      chunk.copy(buffer, length)
      length = needed
    }
    const cutOff = () => {
      if (!stream.readableEnded)
        reject(new ApiError('malformed_request', 'The connection closed before the whole body arrived.'))
    }
    if (stream.destroyed) cutOff()
    stream
      .on('data', take)
      .once('end', () => {
        held.finish()
        resolve(buffer.subarray(0, length))
      })
      .once('error', cutOff)
      .once('close', cutOff)
  })
}

const nothing = Buffer.alloc(0)

import type { FastifyRequest } from 'fastify'

/** A header that may occur once. Node joins repeated ones with a comma, or returns a list. */
export function singleHeader(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

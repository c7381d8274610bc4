import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { singleHeader } from './header.ts'

export type Coding = 'br' | 'gzip'

const threshold = 1024

const compressors: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 9,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify<Buffer, Buffer>(gzip)(bytes),
}

/** A text that stays the same while the service runs. Each form is compressed once, outside of the event loop. */
export class FixedText {
  readonly #bytes: Buffer
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(text: string) {
    this.#bytes = Buffer.from(text)
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const codings = this.#bytes.length < threshold ? [] : (['br', 'gzip'] as const)
    const coding = chooseCoding(singleHeader(request, 'accept-encoding') ?? '', codings)
    if (coding === undefined) return reply.send(this.#bytes)
    const form = this.#compressed.get(coding) ?? compressors[coding](this.#bytes)
    this.#compressed.set(coding, form)
    return reply.header('content-encoding', coding).send(await form)
  }
}

/** The first of these codings that Accept-Encoding allows (RFC 9110 section 12.5.3); undefined for none. */
export function chooseCoding(header: string, codings: readonly Coding[]): Coding | undefined {
  const weights = new Map<string, number>()
  for (const element of header.split(',')) {
    const [, coding, weight = '1'] = /^\s*([\w*-]+)\s*(?:;\s*q=([\d.]+))?\s*$/i.exec(element) ?? []
    if (coding !== undefined) weights.set(coding.toLowerCase(), Number(weight))
  }
  return codings.find((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

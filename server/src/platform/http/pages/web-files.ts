import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { listTag, matchesNone } from '../protocol/etag.ts'
import { chooseCoding, type Coding } from '../protocol/fixed-text.ts'
import { singleHeader } from '../protocol/header.ts'
import { requestTarget } from '../request-context.ts'

/** A file as it is sent. */
export interface WebFile {
  mediaType: string
  /** Does the name contain a hash of the content? Then the content never changes. */
  isHashed: boolean
  etag: string
  codings: readonly Coding[]
  content(coding?: Coding): Promise<Buffer>
}

/** The built web application. */
export interface WebApplication {
  /** The HTML of every page. */
  page: string
  /** The first path segments of its pages. */
  segments: ReadonlySet<string>
  /** By path, such as `/assets/index-Jy6I_0_g.js`. */
  files: ReadonlyMap<string, WebFile>
}

export const noWebApplication: WebApplication = { page: '', segments: new Set(), files: new Map() }

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

const page = 'index.html'
const brotli = '.br'
const assets = 'assets/'

/**
 * Reads everything into memory, so that no request touches the file system and a later build changes nothing: each file
 * compressed, if the build did so. Errors: it is not built, or a file has an unknown type.
 */
export function readWebApplication(folder: string): WebApplication {
  const names = new Set(readNames(folder))
  const html = names.has(page) ? readFileSync(join(folder, page), 'utf8') : ''
  const plain = [...names].filter((name) => name !== page && extname(name) !== brotli)
  return {
    page: html,
    segments: new Set(/<meta\s+name="rapport-paths"\s+content="([^"]*)"/.exec(html)?.[1]?.split(' ')),
    files: new Map(plain.map((name) => [`/${name}`, readFile(folder, name, names.has(name + brotli))])),
  }
}

function readNames(folder: string): string[] {
  try {
    return (JSON.parse(readFileSync(join(folder, 'build.json'), 'utf8')) as { files: string[] }).files
  } catch (error) {
    throw new Error(`The web application is not built (${folder}). Run \`npm run build\`.`, { cause: error })
  }
}

function readFile(folder: string, name: string, isCompressed: boolean): WebFile {
  const mediaType = mediaTypes[extname(name)]
  if (mediaType === undefined) throw new Error(`web/dist/${name}: add its media type to web-files.ts.`)
  const stored = readFileSync(join(folder, isCompressed ? name + brotli : name))
  return {
    mediaType,
    isHashed: name.startsWith(assets),
    etag: listTag(stored),
    codings: isCompressed ? ['br', 'gzip'] : [],
    content: isCompressed ? formsOf(stored) : async () => stored,
  }
}

/** Makes the other forms of a compressed file when a client first asks for them, which few do. */
function formsOf(compressed: Buffer): WebFile['content'] {
  const decompress = () => promisify(brotliDecompress)(compressed)
  const plain = once(decompress)
  const gzipped = once(async () => promisify<Buffer, Buffer>(gzip)(await decompress()))
  return async (coding) => (coding === 'br' ? compressed : coding === 'gzip' ? gzipped() : plain())
}

/** Keeps the result; after a failure, the next caller tries again. */
function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined
  const forget = (error: unknown) => {
    made = undefined
    throw error
  }
  return () => (made ??= make().catch(forget))
}

/** Serves the files. They need no credential and no database, and no rate limit counts them. */
export function addWebFiles(app: FastifyInstance, files: WebApplication['files']): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const file = files.get(requestTarget(request).split('?', 1)[0] ?? '')
    return file ? sendFile(file, request, reply) : reply.callNotFound()
  }
  const method = ['GET', 'HEAD']
  for (const [url, { isHashed }] of files) if (!isHashed) app.route({ method, url, handler })
  // One route for all of them: each would take memory, and time at the start.
  if (files.size > 0) app.route({ method, url: `/${assets}*`, handler })
}

async function sendFile(file: WebFile, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  request.requestContext.route = 'web file'
  const { mediaType, isHashed, etag, codings } = file
  void reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache').header('etag', etag)
  const none = singleHeader(request, 'if-none-match')
  if (none !== undefined && !matchesNone(none, etag)) return reply.code(304).send()
  const coding = chooseCoding(singleHeader(request, 'accept-encoding') ?? '', codings)
  if (coding !== undefined) void reply.header('content-encoding', coding)
  return reply.type(mediaType).send(await file.content(coding))
}

import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { listTag, matchesNone } from '../protocol/etag.ts'
import { chooseCoding, type Coding } from '../protocol/fixed-text.ts'
import { singleHeader } from '../protocol/header.ts'

/** A file as it is sent, with the compressed forms that the build made. */
export interface WebFile {
  mediaType: string
  /** Does the name contain a hash of the content? Then the content never changes. */
  isHashed: boolean
  etag: string
  content: Buffer
  compressed: Partial<Record<Coding, Buffer>>
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

const extensions: Record<Coding, string> = { br: '.br', gzip: '.gz' }

/**
 * Reads everything into memory, so that no request touches the file system and a later build changes nothing. Errors: it
 * is not built, or a file has an unknown type.
 */
export async function readWebApplication(folder: string): Promise<WebApplication> {
  const stamp = await readFile(join(folder, 'build.json'), 'utf8').catch((error: unknown) => {
    throw new Error(`The web application is not built (${folder}). Run \`npm run build\`.`, { cause: error })
  })
  const { files: names } = JSON.parse(stamp) as { files: string[] }
  const contents = new Map<string, Buffer>()
  // One at a time: all of them would need more open files than some systems allow.
  for (const name of names) contents.set(name, await readFile(join(folder, name)))
  const page = contents.get('index.html')?.toString() ?? ''
  const isForm = (name: string) => Object.values(extensions).includes(extname(name))
  const files = [...contents].filter(([name]) => name !== 'index.html' && !isForm(name))
  return {
    page,
    segments: new Set(/<meta\s+name="rapport-paths"\s+content="([^"]*)"/.exec(page)?.[1]?.split(' ')),
    files: new Map(files.map(([name, content]) => [`/${name}`, webFile(name, content, contents)])),
  }
}

function webFile(name: string, content: Buffer, contents: ReadonlyMap<string, Buffer>): WebFile {
  const mediaType = mediaTypes[extname(name)]
  if (mediaType === undefined) throw new Error(`web/dist/${name}: add its media type to web-files.ts.`)
  const forms = Object.entries(extensions).flatMap(([coding, extension]) => {
    const compressed = contents.get(name + extension)
    return compressed ? [[coding, compressed]] : []
  })
  return {
    mediaType,
    isHashed: name.startsWith('assets/'),
    etag: listTag(content),
    content,
    compressed: Object.fromEntries(forms),
  }
}

/** Serves the files. They need no credential and no database, and no rate limit counts them. */
export function addWebFiles(app: FastifyInstance, files: WebApplication['files']): void {
  for (const [path, file] of files) {
    app.route({ method: ['GET', 'HEAD'], url: path, handler: async (request, reply) => sendFile(file, request, reply) })
  }
}

function sendFile(file: WebFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.requestContext.route = 'web file'
  const { mediaType, isHashed, etag, content, compressed } = file
  void reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache').header('etag', etag)
  const none = singleHeader(request, 'if-none-match')
  if (none !== undefined && !matchesNone(none, etag)) return reply.code(304).send()
  const codings = (['br', 'gzip'] as const).filter((one) => compressed[one] !== undefined)
  const coding = chooseCoding(singleHeader(request, 'accept-encoding') ?? '', codings)
  if (coding !== undefined) void reply.header('content-encoding', coding)
  return reply.type(mediaType).send(coding === undefined ? content : compressed[coding])
}

import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../model/errors.ts'
import { escapeHtml } from './escape-html.ts'
import { listTag, matchesNone } from '../protocol/etag.ts'
import { FixedText } from '../protocol/fixed-text.ts'
import { relativePath, renderMarkdown } from './guide-html.ts'
import { guideStyle } from './guide-style.ts'
import { pagesWith } from './html.ts'
import { hasTrailingSlash, isOnHost, requestTarget } from '../request-context.ts'
import { singleHeader } from '../protocol/header.ts'

/** The documents of the release, which the service shows as pages at `/docs`. */
export interface Guides {
  /** The folder that contains `docs`. */
  root: string
  /** The path of each document below `root`, such as `docs/errors.md`, by the path of its page. */
  files: ReadonlyMap<string, string>
}

export const noGuides: Guides = { root: '', files: new Map() }

/** Documents outside of the folder `docs`. Their pages are below `/docs` too. */
const otherDocuments = new Set(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'])

/** Lists the documents; only these can be requested. Each is read and converted when it is first requested. */
export async function listGuides(root: string): Promise<Guides> {
  const documents = await readdir(join(root, 'docs'), { recursive: true, withFileTypes: true })
  const others = await readdir(root, { withFileTypes: true })
  const paths = [
    ...documents.map((entry) => [entry, posix.join(relativeFolder(root, entry.parentPath), entry.name)] as const),
    ...others.filter(({ name }) => otherDocuments.has(name)).map((entry) => [entry, entry.name] as const),
  ]
  const files = paths.flatMap(([entry, path]) => (entry.isFile() && path.endsWith('.md') ? [path] : []))
  return { root, files: new Map(files.sort().map((path) => [pagePath(path), path])) }
}

const relativeFolder = (root: string, folder: string): string => folder.slice(join(root, '/').length)

/** `docs/errors.md` has the page `/docs/errors.md`, and `SECURITY.md` has `/docs/SECURITY.md`. */
const pagePath = (path: string): string => (path.startsWith('docs/') ? `/${path}` : `/docs/${path}`)

export interface GuideOptions {
  guides: Guides
  /** With AUTH_ORIGIN, the guides are on the other host, with the API. */
  authOrigin: string | undefined
}

interface GuidePage {
  content: FixedText
  headers: Record<string, string>
}

/** Serves the pages. Like the files of the application, they need no credential, and no rate limit counts them. */
export function addGuides(app: FastifyInstance, { guides, authOrigin }: GuideOptions): void {
  if (guides.files.size === 0) return
  const pages = new Map<string, Promise<GuidePage>>()
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    request.requestContext.route = 'guide'
    const path = requestTarget(request).split('?', 1)[0] ?? ''
    const isKnown = path === '/docs' || guides.files.has(path)
    if (!isKnown || (authOrigin !== undefined && isOnHost(request, authOrigin)))
      throw new ApiError('not_found', 'There is no such guide; see /docs for all guides.')
    // Relative links would lead elsewhere.
    if (hasTrailingSlash(request)) return reply.redirect(`../${posix.basename(path)}`, 308)
    const page = pages.get(path) ?? createPage(guides, path)
    pages.set(path, page)
    // A file that could not be read may be readable later.
    return sendGuide(await page.catch((error: unknown) => (pages.delete(path), Promise.reject(error))), request, reply)
  }
  for (const url of ['/docs', '/docs/*']) app.route({ method: ['GET', 'HEAD'], url, handler })
}

async function sendGuide(
  { content, headers }: GuidePage,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.headers(headers)
  const none = singleHeader(request, 'if-none-match')
  if (none !== undefined && !matchesNone(none, headers.etag ?? '')) return reply.code(304).send()
  return content.send(request, reply)
}

async function createPage(guides: Guides, path: string): Promise<GuidePage> {
  const { title, body } = path === '/docs' ? await createIndex(guides) : await createDocument(guides, path)
  const { text, headers } = guidePage(path === '/docs' ? title : `${title} · Rapport`, `${links(path)}\n${body}`)
  return { content: new FixedText(text), headers: { ...headers, etag: listTag(text), 'cache-control': 'no-cache' } }
}

const guidePage = pagesWith(guideStyle)

const links = (path: string): string => {
  const to = (text: string, target: string) => `<a href="${relativePath(path, target)}">${text}</a>`
  return `<nav aria-label="Documentation">${[
    ...(path === '/docs' ? [] : [to('All guides', '/docs')]),
    to('API explorer', '/v5/swagger'),
    to('Rapport', '/'),
  ].join('\n')}</nav>`
}

interface Content {
  title: string
  body: string
}

async function createDocument(guides: Guides, path: string): Promise<Content> {
  const file = guides.files.get(path) ?? ''
  const markdown = await readFile(join(guides.root, file), 'utf8')
  const body = await renderMarkdown(markdown, (link) => {
    const target = pagePath(posix.join(posix.dirname(file), link))
    return guides.files.has(target) ? relativePath(path, target) : undefined
  })
  return { title: titleOf(markdown), body }
}

const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? 'Rapport'

const sortKey = (title: string): string => title.replace(/^(?:The|A) /, '')

/** By the folder of the document, in this order; '' is every other one. */
const groups: readonly [folder: string, heading: string][] = [
  ['docs/guides', 'Using and operating Rapport'],
  ['', 'Reference'],
  ['docs/decisions', 'Decisions'],
  ['.', 'The project'],
]

async function createIndex({ root, files }: Guides): Promise<Content> {
  const documents = await Promise.all(
    [...files].map(async ([path, file]) => {
      const folder = posix.dirname(file)
      const group = groups.some(([name]) => name === folder) ? folder : ''
      return { path, group, title: titleOf(await readFile(join(root, file), 'utf8')) }
    }),
  )
  documents.sort((one, other) => sortKey(one.title).localeCompare(sortKey(other.title), 'en'))
  const sections = groups.map(([folder, heading]) => {
    const items = documents
      .filter(({ group }) => group === folder)
      .map(({ path, title }) => `<li><a href="${relativePath('/docs', path)}">${escapeHtml(title)}</a></li>`)
    return `<h2>${heading}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
  })
  return { title: 'Rapport guides', body: `<h1>Guides</h1>\n${sections.join('\n')}` }
}

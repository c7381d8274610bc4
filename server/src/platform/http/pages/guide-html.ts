import { posix } from 'node:path'
import type { Tokens } from 'marked'
import { escapeHtml } from './escape-html.ts'

/** What a document links to: the URL relative to its own page, or undefined if that file is not served. */
type ResolveLink = (path: string) => string | undefined

/** Converts Markdown to HTML. Raw HTML is shown as text; pictures are not part of the package, so their text is shown. */
export async function renderMarkdown(markdown: string, resolveLink: ResolveLink): Promise<string> {
  const { Marked } = await import('marked')
  const ids = new Map<string, number>()
  const marked = new Marked({
    renderer: {
      heading({ depth, text, tokens }) {
        const id = uniqueId(ids, headingId(text))
        const anchor = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)} ${anchor}</h${depth}>\n`
      },
      html: ({ text }) => (/^\s*<!--/.test(text) ? '' : harmlessTag.test(text) ? text : escapeHtml(text)),
      image: ({ text }) => `<span class="picture">[${escapeHtml(text)}]</span>`,
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const url = linkTarget(href, resolveLink)
        return url === undefined ? text : `<a href="${escapeHtml(url)}">${text}</a>`
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
      table({ header, rows }) {
        const row = (cells: Tokens.TableCell[], tag: 'td' | 'th') =>
          `<tr>${cells.map(({ text, tokens }) => cell(text === '' ? 'td' : tag, this.parser.parseInline(tokens))).join('')}</tr>`
        const body = rows.map((cells) => row(cells, 'td')).join('\n')
        return `<div class="table" tabindex="0"><table><thead>${row(header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  return marked.parse(markdown)
}

const cell = (tag: 'td' | 'th', html: string): string => `<${tag}>${html}</${tag}>`

const harmlessTag = /^<\/?kbd>$|^<br>$/

/** The id of a heading, as GitHub generates it, so that links work in both places. */
const headingId = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\d _-]/gu, '')
    .replaceAll(' ', '-')

function uniqueId(ids: Map<string, number>, id: string): string {
  const count = ids.get(id) ?? 0
  ids.set(id, count + 1)
  return count === 0 ? id : `${id}-${count}`
}

function linkTarget(href: string, resolveLink: ResolveLink): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const url = resolveLink(path)
  return url === undefined || anchor === undefined ? url : `${url}#${anchor}`
}

/** From one path to another, such as `../errors.md`; never ends with a folder, whose address would be a redirect. */
export const relativePath = (from: string, to: string): string =>
  posix.join(posix.relative(posix.dirname(from), posix.dirname(to)), posix.basename(to) || '.')

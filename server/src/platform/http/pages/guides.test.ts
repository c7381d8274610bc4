import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import axe from 'axe-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { routes } from '../../../app.ts'
import { releaseFolder, webFolder } from '../../../release.ts'
import { chromium, sharedChromium } from '../../../../test/chromium.ts'
import { returnPage, takePage } from '../../../../test/page-pool.ts'
import { lowContrast } from '../../../../test/contrast.ts'
import { requestText, sendRaw } from '../../../../test/raw-http.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { renderMarkdown } from './guide-html.ts'
import { listGuides } from './guides.ts'
import { readWebApplication } from './web-files.ts'

const split = { AUTH_ORIGIN: 'https://auth.example.com', PUBLIC_URL: 'https://crm.example.com/rapport' }
let service: TestService
let paths: string[]

beforeAll(async () => {
  service = await startTestService()
  const documents = await readdir(join(releaseFolder, 'docs'), { recursive: true })
  paths = documents.filter((name) => name.endsWith('.md')).map((name) => `/docs/${name}`)
})
afterAll(() => service.close())

const fromBrowser = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }
const open = (path: string) => service.anonymous('GET', path, fromBrowser)

test('every document is a page with a strict policy, which the index links to', async () => {
  const index = await open('/docs')
  const listed = [...index.text.matchAll(/<li><a href="([^"]+)">/g)].map(([, href = '']) => posix.join('/', href))
  expect(paths.length).toBeGreaterThan(40)
  expect(paths.filter((path) => !listed.includes(path))).toEqual([])
  for (const path of ['/docs', ...listed]) {
    const { status, headers, text } = await open(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/,
    )
    expect(text, path).not.toMatch(/<(?:script|img|iframe|object|form|style [^>]*)[\s>]|javascript:| on\w+=/i)
    expect(text, path).toMatch(/<h1[^>]*>.+<\/h1>/)
  }
})

test('every link of every document leads to a page that exists and has the heading', async () => {
  const pages = new Map<string, string>()
  const load = async (path: string) => {
    const text = pages.get(path) ?? (await open(path)).text
    pages.set(path, text)
    return text
  }
  const broken: string[] = []
  for (const path of ['/docs', ...paths, '/docs/CHANGELOG.md']) {
    for (const [, href = ''] of (await load(path)).matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      if (/^(?:https?|mailto):/.test(href)) continue
      const { pathname, hash } = new URL(href.replaceAll('&amp;', '&'), `http://service${path}`)
      if (!pathname.startsWith('/docs')) continue
      const text = await load(pathname)
      if (!/<h1/.test(text) || text.includes('<h1>404')) broken.push(`${path} → ${href}`)
      else if (hash !== '' && !text.includes(` id="${decodeURIComponent(hash.slice(1))}"`))
        broken.push(`${path} → ${href}`)
    }
  }
  expect(broken).toEqual([])
})

test('nothing but the documents that exist at the start can be requested', async () => {
  const attempts = [
    '/docs/none.md',
    '/docs/guides',
    '/docs/../package.json',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/guides/..%2f..%2fpackage.json',
    '/docs/..%5cpackage.json',
    '/docs/guides/..\\api.md',
    '/docs//etc/passwd',
    '/docs/%00api.md',
    '/docs/guides/api.md%00',
    '/docs/guides/api%2emd',
    '/docs/grafana/rapport.json',
    '/docs/application/pictures/home-light-1440.png',
    '/docs/constructor',
    '/docs/__proto__',
    '/docs/package.json',
    '/docs/LICENSE',
  ]
  for (const path of attempts) {
    const { status, headers, body } = await sendRaw(service.url, requestText('GET', path, fromBrowser))
    expect([path, [400, 404].includes(status)]).toEqual([path, true])
    expect([path, headers['content-security-policy']]).toEqual([path, expect.stringMatching(/^default-src 'none';/)])
    expect(body).not.toMatch(/"dependencies"|root:|Apache License/)
  }
  const unknown = await open('/docs/none.md')
  expect(unknown.text).toContain('<h1>404 Not found</h1>')
  expect((await service.anonymous('GET', '/docs/none.md')).body).toMatchObject({ code: 'not_found', status: 404 })
})

test('only files named *.md are listed, and no symbolic links', async () => {
  const root = await mkdtemp(join(tmpdir(), 'rapport-guides-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await mkdir(join(root, 'docs/guides'), { recursive: true })
  for (const name of ['docs/a.md', 'docs/guides/b.md', 'docs/c.json', 'SECURITY.md', 'private.md'])
    await writeFile(join(root, name), `# ${name}\n`)
  await symlink(join(root, 'private.md'), join(root, 'docs/link.md'))
  await symlink(root, join(root, 'docs/folder.md'))
  const { files } = await listGuides(root)
  expect([...files]).toEqual([
    ['/docs/SECURITY.md', 'SECURITY.md'],
    ['/docs/a.md', 'docs/a.md'],
    ['/docs/guides/b.md', 'docs/guides/b.md'],
  ])
})

test('pages are validated by their tag, have HEAD, and redirect a path with a slash at its end', async () => {
  const path = '/docs/guides/api.md'
  const page = await service.anonymous('GET', path)
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const etag = page.headers.get('etag') ?? ''
  const again = await service.anonymous('GET', path, { headers: { 'if-none-match': etag } })
  expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
  const head = await service.anonymous('HEAD', path)
  expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag])
  expect((await service.anonymous('GET', `${path}?from=mail`)).status).toBe(200)
  for (const [requested, location] of [
    ['/docs/', '../docs'],
    [`${path}/`, '../api.md'],
  ] as const) {
    const { status, headers } = await sendRaw(service.url, requestText('GET', requested, fromBrowser))
    expect([requested, status, headers.location]).toEqual([requested, 308, location])
  }
})

test('no page of the application and no resource has the same path', async () => {
  const { segments, files } = readWebApplication(webFolder)
  expect([...segments]).not.toContain('docs')
  expect([...files.keys()].filter((path) => path.startsWith('/docs'))).toEqual([])
  expect(routes.filter(({ path }) => /^\/docs(?:\/|$)/.test(path))).toEqual([])
})

test('with AUTH_ORIGIN, the guides are on the host of the API only', async () => {
  const other = await startTestService(split)
  onTestFinished(() => other.close())
  const ask = (host: string, path: string) =>
    sendRaw(other.url, requestText('GET', path, { headers: { ...fromBrowser.headers, host } }))
  for (const path of ['/docs', '/docs/guides/api.md']) {
    expect([path, (await ask('crm.example.com', path)).status]).toEqual([path, 200])
    expect([path, (await ask('auth.example.com', path)).status]).toEqual([path, 404])
  }
})

test('raw HTML is shown as text, and links to files that are not served are text', async () => {
  const markdown = [
    '# `One` & <b>two</b>\n\n## Same\n\n## Same\n',
    '<script>alert(1)</script>\n\n<!-- hidden -->\n\n[script](javascript:alert(1)) [file](../package.json)',
    '[guide](api.md#lists) ![A "picture"](x.png) <kbd>k</kbd> <img src=x onerror=alert(1)>',
    '```html\n<script>\n```\n\n| a |\n| - |\n| `<i>` |',
  ].join('\n')
  const html = await renderMarkdown(markdown, (path) => (path === 'api.md' ? '../api.md' : undefined))
  expect(html).toContain('<h1 id="one--btwob"><code>One</code> &amp; &lt;b&gt;two&lt;/b&gt;')
  expect(html).toMatch(/id="same".*id="same-1"/s)
  expect(html).toContain('<a href="../api.md#lists">guide</a>')
  expect(html).toContain('<span class="picture">[A &quot;picture&quot;]</span> <kbd>k</kbd>')
  expect(html).not.toMatch(/<script|<img|hidden|href="javascript|package\.json/)
})

test.skipIf(!chromium).each(['light', 'dark'] as const)(
  'in a %s color scheme guides can be read at 390 px, and tables scroll inside',
  { timeout: 60_000 },
  async (colorScheme) => {
    const page = await takePage(await sharedChromium(), { colorScheme, viewport: { width: 390, height: 844 } })
    onTestFinished(() => returnPage(page))
    const troubles: string[] = []
    page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
    for (const path of ['/docs', '/docs/guides/api.md', '/docs/configuration.md', '/docs/guides/senders.md']) {
      await page.goto(`${service.url}${path}`)
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 390])
      expect([path, await lowContrast(page)]).toEqual([path, []])
      await page.evaluate(axe.source)
      const violations = await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')
      expect([path, violations]).toEqual([path, []])
    }
    await page.goto(`${service.url}/docs/guides/api.md`)
    await page.getByRole('link', { name: 'All guides' }).click()
    expect(new URL(page.url()).pathname).toBe('/docs')
    expect(troubles).toEqual([])
  },
)

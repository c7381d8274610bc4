import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { webFolder } from '../../server/src/release.ts'
import { browserTest, useApplication } from './application.ts'

const { openPage } = useApplication()

const files = readdirSync(webFolder, { recursive: true, encoding: 'utf8' })
const read = (name: string): string => readFileSync(join(webFolder, name), 'utf8')

/** The size sent to a browser that supports gzip, as the service compresses it (web-files.ts); Brotli is smaller. */
const gzipSize = (path: string): number => gzipSync(readFileSync(join(webFolder, path))).length

browserTest('the list of contacts needs at most 260 kB of scripts and 45 kB of styles', async () => {
  const page = await openPage({ path: '/contacts', organization: 'small' })
  await page.getByRole('row').nth(3).waitFor()
  const urls = await page.evaluate<string[]>('performance.getEntriesByType("resource").map(({ name }) => name)')
  const loaded = new Set(urls.map((url) => new URL(url).pathname))
  const sizeOf = (ending: string) =>
    [...loaded].filter((path) => path.endsWith(ending)).reduce((sum, path) => sum + gzipSize(path), 0)
  const sizes = { scripts: sizeOf('.js'), styles: sizeOf('.css') }
  process.stdout.write(`The list of contacts: ${sizes.scripts} B of scripts, ${sizes.styles} B of styles (gzip)\n`)
  expect(sizes.scripts).toBeGreaterThan(100_000)
  expect(sizes.scripts).toBeLessThanOrEqual(260_000)
  expect(sizes.styles).toBeGreaterThan(3000)
  expect(sizes.styles).toBeLessThanOrEqual(45_000)
})

test('each page and each section of the settings is loaded when it is opened', () => {
  for (const [path, pattern] of [
    ['router.tsx', /component: (.+)/g],
    ['settings/sections.ts', /Page: (.+)/g],
  ] as const) {
    const source = readFileSync(new URL(`../src/${path}`, import.meta.url), 'utf8')
    const pages = [...source.matchAll(pattern)].map(([, component = '']) => component)
    expect(pages.length).toBeGreaterThan(8)
    const direct = pages.filter(
      (component) => !/^lazy(?:RouteComponent)?\(|^AsyncRouteComponent<object>$/.test(component),
    )
    expect(direct).toEqual(path === 'router.tsx' ? ['Shell,'] : [])
  }
})

/** Never requested: namespace URLs, and links in the texts of errors and forms. */
const named = ['www.w3.org', 'react.dev', 'base-ui.com', 'localhost', 'example.com', 'login.example.com']

test('no file of the build requests another host', () => {
  const texts = files.filter((name) => /\.(?:js|css|html|svg)$/.test(name))
  expect(texts.length).toBeGreaterThan(20)
  for (const name of texts) {
    const hosts = [...read(name).matchAll(/https?:\/\/([\w-]+(?:\.[\w-]+)*)/g)].map(([, host = '']) => host)
    const allowed = name.endsWith('.js') ? named : ['www.w3.org']
    expect([name, hosts.filter((host) => !allowed.includes(host))]).toEqual([name, []])
  }
})

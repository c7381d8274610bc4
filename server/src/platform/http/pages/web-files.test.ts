import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readWebApplication } from './web-files.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-web-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function build(files: Record<string, string | Buffer>): Promise<void> {
  await mkdir(join(folder, 'assets'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  await writeFile(join(folder, 'build.json'), JSON.stringify({ hash: 'a', files: Object.keys(files) }))
}

test('everything is read at once, so a later build cannot change what a running service serves', async () => {
  const page = '<meta\n  name="rapport-paths"\n  content="contacts login" />'
  const compressed = brotliCompressSync('a')
  await build({ 'index.html': page, 'assets/a-1.js': 'a', 'assets/a-1.js.br': compressed, 'theme.js': 't' })
  const web = readWebApplication(folder)
  await rm(folder, { recursive: true })
  expect([web.page, [...web.segments]]).toEqual([page, ['contacts', 'login']])
  expect([...web.files.keys()]).toEqual(['/assets/a-1.js', '/theme.js'])
  const [script, theme] = [web.files.get('/assets/a-1.js'), web.files.get('/theme.js')]
  expect([script?.codings, theme?.codings]).toEqual([['br', 'gzip'], []])
  expect(await script?.content('br')).toEqual(compressed)
  expect([await script?.content(), await theme?.content()].map(String)).toEqual(['a', 't'])
  expect([script?.isHashed, theme?.isHashed]).toEqual([true, false])
})

test('the other forms of a compressed file are made once, however many ask for them', async () => {
  await build({ 'assets/a-1.js': 'a', 'assets/a-1.js.br': brotliCompressSync('a') })
  const script = readWebApplication(folder).files.get('/assets/a-1.js')
  const [first, second] = await Promise.all([script?.content('gzip'), script?.content('gzip')])
  expect(String(gunzipSync(first ?? ''))).toBe('a')
  expect(second).toBe(first)
  expect(await script?.content()).toBe(await script?.content())
})

test('without a build, and with a file of unknown type, the error says what to do', async () => {
  expect(() => readWebApplication(folder)).toThrow('The web application is not built')
  await build({ 'index.html': '', 'assets/film.mov': 'a' })
  expect(() => readWebApplication(folder)).toThrow('web/dist/assets/film.mov: add its media type')
})

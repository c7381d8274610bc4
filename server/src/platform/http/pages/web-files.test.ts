import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readWebApplication } from './web-files.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-web-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function build(files: Record<string, string>): Promise<void> {
  await mkdir(join(folder, 'assets'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  await writeFile(join(folder, 'build.json'), JSON.stringify({ hash: 'a', files: Object.keys(files) }))
}

test('everything is read at once, so a later build cannot change what a running service serves', async () => {
  const page = '<meta\n  name="rapport-paths"\n  content="contacts login" />'
  await build({ 'index.html': page, 'assets/a-1.js': 'a', 'assets/a-1.js.br': 'b', 'theme.js': 't' })
  const web = await readWebApplication(folder)
  await rm(folder, { recursive: true })
  expect([web.page, [...web.segments]]).toEqual([page, ['contacts', 'login']])
  expect([...web.files.keys()]).toEqual(['/assets/a-1.js', '/theme.js'])
  const script = web.files.get('/assets/a-1.js')
  expect([script?.content.toString(), script?.compressed.br?.toString()]).toEqual(['a', 'b'])
  expect([script?.isHashed, web.files.get('/theme.js')?.isHashed]).toEqual([true, false])
})

test('without a build, and with a file of unknown type, the error says what to do', async () => {
  await expect(readWebApplication(folder)).rejects.toThrow('The web application is not built')
  await build({ 'index.html': '', 'assets/film.mov': 'a' })
  await expect(readWebApplication(folder)).rejects.toThrow('web/dist/assets/film.mov: add its media type')
})

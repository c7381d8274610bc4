import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changedFiles, concernedTests, readCode } from './changed.mjs'

/** A small project of the same structure. */
const code = new Map(
  Object.entries({
    'vitest.config.ts': `import { memoryFolder } from './server/test/memory-folder.ts'`,
    'server/test/memory-folder.ts': '',
    'server/test/global-setup.ts': `import { migrate } from '../src/platform/migrate.ts'`,
    'server/test/inspect-statements.ts': '',
    'server/test/property-seed.ts': '',
    'server/src/platform/migrate.ts': '',
    'server/src/platform/sql.ts': '',
    'server/src/platform/unused.ts': '',
    'server/src/crm/notes.ts': `import type { Sql } from '../platform/sql.ts'`,
    'server/src/crm/notes.test.ts': `import { notes } from './notes.ts'`,
    'server/src/cli/late.test.ts': `const { notes } = await import('../crm/notes.ts')`,
    'server/src/cli/guide.test.ts': `readFileSync('docs/guide.md')`,
    'server/test/service.ts': `export { notes } from '../src/crm/notes.ts'`,
    'server/test/sources.ts': '',
    'server/test/architecture.test.ts': `import { readSources } from './sources.ts'`,
    'server/test/locks.test.ts': `import { readSources } from './sources.ts'`,
    'server/test/pages.test.ts': `const built = 'web/dist/index.html'`,
    'scripts/build.mjs': '',
    'scripts/build.test.mjs': `import { build } from './build.mjs'`,
    'web/src/page.tsx': `import { read } from './read'`,
    'web/src/read.ts': '',
    'web/src/read.test.ts': `import { read } from './read'`,
    'web/test/page.test.ts': `import { service } from '../../server/test/service.ts'`,
  }),
)
const concerned = (...changed) => concernedTests(changed, code)
const ofSources = ['server/test/architecture.test.ts', 'server/test/locks.test.ts']

test('a test concerns itself, and those that read all sources', () => {
  expect(concerned('web/src/read.test.ts')).toEqual(['server/test/architecture.test.ts', 'web/src/read.test.ts'])
})

test('a module concerns the tests that import it, at any distance and in any form', () => {
  const importing = ['server/src/cli/late.test.ts', 'server/src/crm/notes.test.ts', 'web/test/page.test.ts']
  expect(concerned('server/src/crm/notes.ts')).toEqual([...importing, ...ofSources].sort())
  expect(concerned('server/src/platform/sql.ts')).toEqual([...importing, ...ofSources].sort())
  expect(concerned('server/test/service.ts')).toEqual([...ofSources, 'web/test/page.test.ts'])
})

test('a file of the web application concerns its tests, those in the browser, and those that name its folder', () => {
  const expected = [
    'server/test/architecture.test.ts',
    'server/test/pages.test.ts',
    'web/src/read.test.ts',
    'web/test/page.test.ts',
  ]
  for (const path of ['web/src/read.ts', 'web/src/page.css', 'web/index.html', 'web/package.json'])
    expect([path, concerned(path)]).toEqual([path, expected])
})

test('a document concerns the tests that name documents', () => {
  for (const path of ['README.md', 'docs/guide.md', 'docs/pictures/home.png'])
    expect([path, concerned(path)]).toEqual([
      path,
      ['server/src/cli/guide.test.ts', 'server/test/architecture.test.ts'],
    ])
})

test('what every run loads, and anything whose tests are not known, concerns all', () => {
  for (const path of [
    ...['vitest.config.ts', 'server/test/memory-folder.ts', 'server/src/platform/migrate.ts'],
    ...['server/schema/01-start.sql', 'server/data/list.json', 'scripts/build.mjs', 'package.json', 'Dockerfile'],
    ...['server/src/platform/unused.ts', 'server/src/platform/deleted.ts'],
  ])
    expect([path, concerned('README.md', path)]).toEqual([path, undefined])
})

test('without a change, nothing is concerned', () => {
  expect(concerned()).toEqual([])
})

test('in this project, a module of the service concerns its own tests and those of the whole service', () => {
  const tests = concernedTests(['server/src/crm/contacts/resource.ts'], readCode())
  expect(tests).toEqual(
    expect.arrayContaining([
      'server/test/tenancy.test.ts',
      'web/test/list.test.ts',
      'server/test/reach-faults.test.ts',
    ]),
  )
})

let folder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rapport-changed-'))
  git('init', '--quiet', '--initial-branch=main')
  commit('one.ts', 'two.ts', 'three.ts')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const git = (...parameters) =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...parameters], { cwd: folder })

function write(path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function commit(...paths) {
  for (const path of paths) write(path, path)
  git('add', '.')
  git('commit', '--quiet', '--message', paths.join())
}

test('changed is what differs from where the branch left main: committed, staged, edited, deleted, moved or new', () => {
  expect(changedFiles(folder)).toEqual([])
  git('switch', '--quiet', '--create', 'branch')
  commit('committed.ts')
  write('one.ts', 'edited')
  rmSync(join(folder, 'two.ts'))
  git('mv', 'three.ts', 'moved.ts')
  write('new folder/ä.ts', '')
  const expected = ['committed.ts', 'moved.ts', 'new folder/ä.ts', 'one.ts', 'three.ts', 'two.ts']
  expect(changedFiles(folder)).toEqual(expected)
  expect([...readCode(folder).keys()].sort()).toEqual(['committed.ts', 'moved.ts', 'new folder/ä.ts', 'one.ts'])
})

test('what only main has changed since is not among it, and without a main the last commit counts', () => {
  git('switch', '--quiet', '--create', 'branch')
  commit('own.ts')
  git('switch', '--quiet', 'main')
  commit('theirs.ts')
  git('switch', '--quiet', 'branch')
  expect(changedFiles(folder)).toEqual(['own.ts'])
  git('branch', '--quiet', '--delete', '--force', 'main')
  write('one.ts', 'edited')
  expect(changedFiles(folder)).toEqual(['one.ts'])
})

test('--help explains the option, and another option is refused', () => {
  const run = (...options) =>
    spawnSync(process.execPath, [fileURLToPath(new URL('test.mjs', import.meta.url)), ...options], { encoding: 'utf8' })
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--changed'), stderr: '' })
  expect(run('--chnged')).toMatchObject({ status: 2, stderr: expect.stringContaining('Unknown option: --chnged') })
})

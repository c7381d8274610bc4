import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))

let root
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-build-')))
  cpSync(scripts, join(root, 'scripts'), { recursive: true })
  write('package.json', '{"type":"module"}')
  install({ 'at-once': { version: '1.0.0' } })
  symlinkSync(join(dirname(scripts), 'node_modules/esbuild'), join(root, 'node_modules/esbuild'))
  makePackage('at-once', 'first')
  makePackage('when-needed', 'first')
  write(
    'server/src/main.ts',
    `import atOnce from 'at-once'
     export const main = async (): Promise<string> => atOnce + ' ' + (await import('when-needed')).default`,
  )
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path, content) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

/** What npm says of what it has installed. */
const install = (packages) => write('node_modules/.package-lock.json', JSON.stringify({ packages }))

/** A package of the older kind, which asks for one of Node's own modules. */
function makePackage(name, said) {
  write(`node_modules/${name}/package.json`, '{"main":"index.js"}')
  write(`node_modules/${name}/index.js`, `require('node:path'); module.exports = '${said}'`)
}

const node = (...words) => execFileSync(process.execPath, words, { cwd: root, encoding: 'utf8' }).trim()
const build = () => node('scripts/build.mjs')
const said = () =>
  node('--input-type=module', '-e', `console.log(await (await import('./server/dist/rapport.js')).main())`)

test('the bundle holds its packages; it is made anew when npm has installed others', () => {
  expect(build()).toMatch(/^Built in /)
  expect(build()).toBe('Nothing changed since the last build.')
  makePackage('at-once', 'second')
  expect(said()).toBe('first first')
  install({ 'at-once': { version: '2.0.0' } })
  expect(build()).toMatch(/^Built in /)
  expect(said()).toBe('second first')
})

test('what only development needs is no reason to build', () => {
  build()
  install({ 'at-once': { version: '1.0.0' }, 'a-tool': { version: '1.0.0', dev: true } })
  expect(build()).toBe('Nothing changed since the last build.')
  install({ 'at-once': { version: '1.0.0', integrity: 'sha512-other' }, 'a-tool': { version: '1.0.0', dev: true } })
  expect(build()).toMatch(/^Built in /)
})

test('a bundle that lost one of its files is made anew', () => {
  write('server/src/later.ts', `export const later = 'later'`)
  write('server/src/main.ts', `export const main = async () => (await import('./later.ts')).later`)
  build()
  const parts = readdirSync(join(root, 'server/dist')).filter((name) => /^rapport\.later-.*\.js$/.test(name))
  expect(parts).toHaveLength(1)
  rmSync(join(root, 'server/dist', parts[0]))
  expect(build()).toMatch(/^Built in /)
  expect(said()).toBe('later')
})

test('a package that pg asks for on other systems alone need not be there', () => {
  write('node_modules/at-once/index.js', `module.exports = 'first'; exports.stream = () => require('pg-cloudflare')`)
  expect(build()).toMatch(/^Built in /)
  expect(said()).toBe('first first')
})

test('the lines of the bundle are those that a trace of calls can name', () => {
  write('server/src/main.ts', `const fail = () => {\n  throw new Error('here')\n}\nexport const main = () => fail()`)
  build()
  const lines = readFileSync(join(root, 'server/dist/rapport.js'), 'utf8').split('\n')
  expect(lines.filter((line) => /throw|fail\(\)/.test(line))).toHaveLength(2)
})

test('without dependencies nothing is built, and the message says what to do', () => {
  rmSync(join(root, 'node_modules/.package-lock.json'))
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, encoding: 'utf8' })
  expect(status).toBe(3)
  expect(stderr).toBe(`The dependencies are missing. Run \`npm start\` (or \`npm ci --omit=dev\`) in ${root} first.\n`)
})

test('a package that is imported when it is needed stays outside: a newer bundle does not take it from a running service', () => {
  build()
  makePackage('when-needed', 'second')
  expect(said()).toBe('first second')
})

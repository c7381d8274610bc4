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
import { brotliDecompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))

let root
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-build-')))
  cpSync(scripts, join(root, 'scripts'), { recursive: true })
  write('package.json', '{"type":"module"}')
  recordInstalled({ 'at-once': { version: '1.0.0' } })
  symlinkSync(join(dirname(scripts), 'node_modules/esbuild'), join(root, 'node_modules/esbuild'))
  createPackage('at-once', 'first')
  createPackage('when-needed', 'first')
  writeMain(
    `import atOnce from 'at-once'
     export const main = async (): Promise<string> => atOnce + ' ' + (await import('when-needed')).default`,
  )
  write('server/src/rules.ts', 'export const read = (text: string): number => text.length')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path, content) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

/** Writes the service's entry, with a function that returns the OpenAPI document. */
const writeMain = (text, document = `'{}'`) =>
  write('server/src/main.ts', `${text}\nexport const apiDocument = async (): Promise<string> => ${document}`)

/** Writes what npm records about installed packages. */
const recordInstalled = (packages) => write('node_modules/.package-lock.json', JSON.stringify({ packages }))

/** A CommonJS package that requires a built-in module of Node. */
function createPackage(name, value) {
  write(`node_modules/${name}/package.json`, '{"main":"index.js"}')
  write(`node_modules/${name}/index.js`, `require('node:path'); module.exports = '${value}'`)
}

const node = (...args) => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trim()
const build = () => node('scripts/build.mjs').split('\n').at(-1)
const runMain = () =>
  node('--input-type=module', '-e', `console.log(await (await import('./server/dist/rapport.js')).main())`)

test('the bundle contains its packages and is rebuilt when npm has installed others', () => {
  expect(build()).toMatch(/^Built in /)
  expect(build()).toBe('Nothing changed since the last build.')
  createPackage('at-once', 'second')
  expect(runMain()).toBe('first first')
  recordInstalled({ 'at-once': { version: '2.0.0' } })
  expect(build()).toMatch(/^Built in /)
  expect(runMain()).toBe('second first')
})

test('a change of development packages does not cause a build', () => {
  build()
  recordInstalled({ 'at-once': { version: '1.0.0' }, 'a-tool': { version: '1.0.0', dev: true } })
  expect(build()).toBe('Nothing changed since the last build.')
  recordInstalled({
    'at-once': { version: '1.0.0', integrity: 'sha512-other' },
    'a-tool': { version: '1.0.0', dev: true },
  })
  expect(build()).toMatch(/^Built in /)
})

test('a bundle with a missing file is rebuilt', () => {
  write('server/src/later.ts', `export const later = 'later'`)
  writeMain(`export const main = async () => (await import('./later.ts')).later`)
  build()
  const parts = readdirSync(join(root, 'server/dist')).filter((name) => /^rapport\.later-.*\.js$/.test(name))
  expect(parts).toHaveLength(1)
  rmSync(join(root, 'server/dist', parts[0]))
  expect(build()).toMatch(/^Built in /)
  expect(runMain()).toBe('later')
})

const document = () => readFileSync(join(root, 'openapi.json'), 'utf8')

test('the OpenAPI document is written whenever the service is built, and again if it is missing', () => {
  writeMain(`export const version = 'first'`, 'version')
  build()
  expect(document()).toBe('first')
  writeMain(`export const version = 'second'`, 'version')
  build()
  expect(document()).toBe('second')
  rmSync(join(root, 'openapi.json'))
  expect(build()).toMatch(/^Built in /)
  expect(document()).toBe('second')
  expect(build()).toBe('Nothing changed since the last build.')
})

test('a build that cannot write the OpenAPI document fails with the reason, and is repeated', () => {
  writeMain('', `Promise.reject(new Error('two routes have one path'))`)
  for (let time = 0; time < 2; time++) {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, encoding: 'utf8' })
    expect(status).toBe(3)
    expect(stderr).toMatch(
      /two routes have one path[^]*\nThe OpenAPI document could not be written; the reason is above\.\n$/,
    )
  }
})

test('a package that pg uses only on other platforms may be missing', () => {
  write('node_modules/at-once/index.js', `module.exports = 'first'; exports.stream = () => require('pg-cloudflare')`)
  expect(build()).toMatch(/^Built in /)
  expect(runMain()).toBe('first first')
})

test('statements stay on separate lines of the bundle, for stack traces', () => {
  writeMain(`const fail = () => {\n  throw new Error('here')\n}\nexport const main = () => fail()`)
  build()
  const lines = readFileSync(join(root, 'server/dist/rapport.js'), 'utf8').split('\n')
  expect(lines.filter((line) => /throw|fail\(\)/.test(line))).toHaveLength(2)
})

test('without dependencies, the build fails and says what to do', () => {
  rmSync(join(root, 'node_modules/.package-lock.json'))
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, encoding: 'utf8' })
  expect(status).toBe(3)
  expect(stderr).toBe(`The dependencies are missing. Run \`npm start\` (or \`npm ci --omit=dev\`) in ${root} first.\n`)
})

test('a dynamically imported package stays external, so that a running service can still load it after a rebuild', () => {
  build()
  createPackage('when-needed', 'second')
  expect(runMain()).toBe('first second')
})

/** A copy that has a web application with one script. */
function addWeb() {
  symlinkSync(join(dirname(scripts), 'node_modules/vite'), join(root, 'node_modules/vite'))
  write('web/package.json', '{"type":"module"}')
  write('tsconfig.json', '{}')
  write('web/tsconfig.json', '{"extends":"../tsconfig.json"}')
  write('web/vite.config.ts', 'export default {}')
  write('web/index.html', '<!doctype html><script type="module" src="/src/main.ts"></script>')
  write('web/public/theme.js', `document.title = '${'theme '.repeat(100)}'`)
  write('web/src/main.ts', `document.title = '${'first '.repeat(100)}'`)
}

const webFiles = () => readdirSync(join(root, 'web/dist'), { recursive: true }).map(String)
const scriptsOf = (names) => names.filter((name) => /^assets\/.*\.js$/.test(name))

test('the web application is built with hashed names and compressed, and its old files are removed', () => {
  addWeb()
  build()
  const files = webFiles()
  const [first] = scriptsOf(files)
  expect(first).toMatch(/^assets\/index-[\w-]{8}\.js$/)
  expect(files).toEqual(expect.arrayContaining(['index.html', 'theme.js', 'theme.js.br', `${first}.br`]))
  const [plain, brotli] = [first, `${first}.br`].map((name) => readFileSync(join(root, 'web/dist', name)))
  expect(brotliDecompressSync(brotli)).toEqual(plain)
  expect(files).not.toContain('index.html.br')
  write('web/src/main.ts', `document.title = 'second'`)
  expect(build()).toMatch(/^Built in /)
  const [second, ...others] = scriptsOf(webFiles())
  expect([second === first, others]).toEqual([false, []])
})

test('types and tests of the web application do not cause a build', () => {
  addWeb()
  build()
  write('web/src/main.test.ts', '')
  write('web/src/api/openapi.d.ts', '')
  expect(build()).toBe('Nothing changed since the last build.')
  write('web/src/main.ts', '')
  expect(build()).toMatch(/^Built in /)
})

test('a web application that cannot be built fails the build', () => {
  addWeb()
  write('web/src/main.ts', `import './absent.ts'`)
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([3, expect.stringMatching(/absent[^]*The web application could not be built/)])
})

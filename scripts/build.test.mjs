import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
  write('node_modules/.package-lock.json', '{}')
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
  write('node_modules/.package-lock.json', '{"packages":{}}')
  expect(build()).toMatch(/^Built in /)
  expect(said()).toBe('second first')
})

test('a package that is imported when it is needed stays outside: a newer bundle does not take it from a running service', () => {
  build()
  makePackage('when-needed', 'second')
  expect(said()).toBe('first second')
})

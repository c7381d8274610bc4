import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))

/** A copy of the project's scripts and settings with one source file. */
let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rapport-check-'))
  chmodSync(root, 0o755)
  cpSync(scripts, join(root, 'scripts'), { recursive: true })
  for (const name of ['.oxfmtrc.json', '.oxlintrc.json', '.gitignore'])
    cpSync(join(dirname(scripts), name), join(root, name))
  mkdirSync(join(root, 'node_modules'))
  for (const name of ['typescript-native', 'oxlint', 'oxfmt', 'openapi-typescript', 'esbuild'])
    symlinkSync(join(dirname(scripts), 'node_modules', name), join(root, 'node_modules', name))
  write('tsconfig.json', '{ "compilerOptions": { "strict": true, "noEmit": true }, "include": ["*.ts"] }\n')
  write('some.ts', 'export const some: number = 1\n')
  write('package.json', '{\n  "type": "module"\n}\n')
  write('node_modules/.package-lock.json', '{ "packages": {} }\n')
  for (const folder of ['server/src', 'web/src']) mkdirSync(join(root, folder), { recursive: true })
  write('server/src/main.ts', serviceWith('Contact'))
  write('server/src/rules.ts', 'export const rules: readonly string[] = []\n')
  write('web/tsconfig.json', '{ "extends": "../tsconfig.json", "include": ["src"] }\n')
  write('web/src/page.ts', page)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const serviceWith = (name) => `const schemas = { ${name}: { type: 'string' } }
const document = { openapi: '3.1.0', info: { title: 'API', version: '1' }, paths: {}, components: { schemas } }

export const apiDocument = async (): Promise<string> => JSON.stringify(document)
`
const page = `import type { components } from './api/openapi'

export const contact: components['schemas']['Contact'] = 'Ada'
`

const write = (path, content) => writeFileSync(join(root, path), content)

function check(user = {}) {
  const code = `const { checks, runChecks } = await import('./scripts/check.mjs'); await runChecks(checks)`
  const options = { cwd: root, encoding: 'utf8', ...user }
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], options)
  return { results: stdout.match(/^(ok|FAILED): .*/gm), output: stdout + stderr }
}

const good = ['ok: types', 'ok: types of the web application', 'ok: lint', 'ok: format']

test('wrong types, lint errors, wrong formatting and broken files fail their check and are named', () => {
  const invalid = {
    'wrong.ts': `export const wrong: number = 'text'\n`,
    'web/src/wrong.ts': `export const wrong: number = 'text'\n`,
    'untidy.ts': 'export const untidy: any = 1\n',
    'unformatted.md': '*  one\n* two\n',
    'broken.yaml': 'a: [1\n',
  }
  for (const [name, content] of Object.entries(invalid)) write(name, content)
  const { results, output } = check()
  expect(results).toEqual(good.map((line) => line.replace('ok', 'FAILED')))
  expect(Object.keys(invalid).filter((name) => !output.includes(name))).toEqual([])
  for (const name of Object.keys(invalid)) rmSync(join(root, name))
  expect(check().results).toEqual(good)
})

test('the types of the API are those of the current service', () => {
  expect(check().results).toEqual(good)
  write('server/src/main.ts', serviceWith('Person'))
  const { results, output } = check()
  expect(results).toContain('FAILED: types of the web application')
  expect(output).toContain(`Property 'Contact' does not exist on type '{ Person: string; }'`)
})

test('a service that cannot be built fails the check of the types that need it, and the other checks run', () => {
  write('server/src/main.ts', `export { absent } from './absent'\n`)
  const { results, output } = check()
  expect(results).toEqual(good.map((line) => (line.endsWith('web application') ? line.replace('ok', 'FAILED') : line)))
  expect(output).toContain('The build failed; the reasons are above.')
  expect(output).toMatch(/Could not resolve .*absent/)
})

test('the checks run for a user who can only read the files', () => {
  expect(check().results).toEqual(good)
  chmodSync(root, 0o555)
  const nobody = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}
  expect(check(nobody).results).toEqual(good)
  chmodSync(root, 0o755)
})

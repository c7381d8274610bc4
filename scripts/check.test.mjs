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
  for (const name of ['typescript-native', 'oxlint', 'oxfmt'])
    symlinkSync(join(dirname(scripts), 'node_modules', name), join(root, 'node_modules', name))
  write('tsconfig.json', '{ "compilerOptions": { "strict": true, "noEmit": true }, "include": ["*.ts"] }\n')
  write('some.ts', 'export const some: number = 1\n')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const write = (path, content) => writeFileSync(join(root, path), content)

function check(user = {}) {
  const code = `const { runChecks } = await import('./scripts/check.mjs'); await runChecks()`
  const options = { cwd: root, encoding: 'utf8', ...user }
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], options)
  return { results: stdout.match(/^(ok|FAILED): .*/gm), output: stdout + stderr }
}

const good = ['ok: types', 'ok: lint', 'ok: format']

test('wrong types, lint errors, wrong formatting and broken files fail their check and are named', () => {
  const faulty = {
    'wrong.ts': `export const wrong: number = 'text'\n`,
    'untidy.ts': 'export const untidy: any = 1\n',
    'unformatted.md': '*  one\n* two\n',
    'broken.yaml': 'a: [1\n',
  }
  for (const [name, content] of Object.entries(faulty)) write(name, content)
  const { results, output } = check()
  expect(results).toEqual(['FAILED: types', 'FAILED: lint', 'FAILED: format'])
  expect(Object.keys(faulty).filter((name) => !output.includes(name))).toEqual([])
  for (const name of Object.keys(faulty)) rmSync(join(root, name))
  expect(check().results).toEqual(good)
})

test('the checks run for a user who can only read the files', () => {
  chmodSync(root, 0o555)
  const nobody = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}
  expect(check(nobody).results).toEqual(good)
  chmodSync(root, 0o755)
})

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))
const cache = 'node_modules/.cache/rapport'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rapport-check-'))
  chmodSync(root, 0o755)
  cpSync(scripts, join(root, 'scripts'), { recursive: true })
  mkdirSync(join(root, cache), { recursive: true })
  write('.prettierignore', 'scripts')
  write('node_modules/oxlint/bin/oxlint', '')
  write('node_modules/typescript/bin/tsc', writingTo('--tsBuildInfoFile'))
})
afterEach(() => {
  chmodSync(join(root, cache), 0o755)
  rmSync(root, { recursive: true, force: true })
})

function write(path, content) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

/** A tool that reports success and writes the file that the option names. */
const writingTo = (option) =>
  `const index = process.argv.indexOf('${option}')
   if (index > 0) require('node:fs').writeFileSync(process.argv[index + 1], '{}')`

function check(user = {}) {
  const code = `const { runChecks } = await import('./scripts/check.mjs'); await runChecks()`
  const options = { cwd: root, encoding: 'utf8', ...user }
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], options).stdout.match(/^(ok|FAILED): .*/gm)
}

test('a broken file is reported on every run until it is fixed', () => {
  symlinkSync(join(dirname(scripts), 'node_modules/prettier'), join(root, 'node_modules/prettier'))
  const formatAfter = (content) => {
    write('some.yaml', content)
    return [check(), check()].map(([, , format]) => format)
  }
  expect(formatAfter('a: [1]\n')).toEqual(['ok: format', 'ok: format'])
  expect(formatAfter('a: [1\n')).toEqual(['FAILED: format', 'FAILED: format'])
  expect(formatAfter('a: [1]\n')).toEqual(['ok: format', 'ok: format'])
})

test('after checks by another user, the checks run without a cache and give the same results', () => {
  write('node_modules/prettier/bin/prettier.cjs', writingTo('--cache-location'))
  check()
  for (const name of ['types.json', 'format.json']) {
    write(join(cache, name), 'of another user')
    chmodSync(join(root, cache, name), 0o444)
  }
  chmodSync(join(root, cache), 0o555)
  const nobody = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}
  expect(check(nobody)).toEqual(['ok: types', 'ok: lint', 'ok: format'])
  expect(readFileSync(join(root, cache, 'types.json'), 'utf8')).toBe('of another user')
})

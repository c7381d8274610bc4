import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))
const module = JSON.stringify(pathToFileURL(join(scripts, 'exit.mjs')).href)

/** Prints more than fits into a pipe, reports that on standard error, and exits. */
const printer = () =>
  spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { exit } = await import(${module})
       process.stdout.write('x'.repeat(2_000_000) + 'end')
       process.stderr.write('printed')
       await exit(5)`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )

test('all output arrives, even if it is read only after the call of exit', async () => {
  const child = printer()
  const closed = once(child, 'close')
  expect(String((await once(child.stderr, 'data'))[0])).toBe('printed')
  const output = await text(child.stdout)
  expect([output.length, output.slice(-3)]).toEqual([2_000_003, 'end'])
  expect(await closed).toEqual([5, null])
})

test('exit does not wait for a reader that has closed the pipe', async () => {
  const child = printer()
  const closed = once(child, 'close')
  const errorOutput = text(child.stderr)
  child.stdout.destroy()
  expect(await closed).toEqual([5, null])
  expect(await errorOutput).toBe('printed')
})

test('no script calls process.exit, which loses output', () => {
  const root = dirname(scripts)
  const files = ['bin', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name)),
  )
  const direct = files.filter(
    (name) => !name.includes('.test.') && readFileSync(join(root, name), 'utf8').includes('process.exit('),
  )
  // The version check must run on old versions of Node, which lack top-level `await`.
  expect(direct.sort()).toEqual(['scripts/exit.mjs', 'scripts/node-version.mjs'])
})

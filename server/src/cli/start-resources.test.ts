import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runProcess } from '../../test/command-line.ts'

// Ports, files and addresses of a start, and what commands know about them.

let folder: string
const clean: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-environments-'))
  await chmod(folder, 0o755)
})
afterEach(async () => {
  for (const step of clean.splice(0).reverse()) await step()
  await rm(folder, { recursive: true, force: true })
})

/** Occupies a free port. */
async function occupyPort(): Promise<number> {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  clean.push(() => new Promise((resolve) => other.close(resolve)))
  return (other.address() as { port: number }).port
}

test.each(['PORT', 'METRICS_PORT'])(
  'if %s is in use, the start fails with one sentence and creates nothing on disk',
  async (name) => {
    const port = await occupyPort()
    const environment = { PORT: '0', [name]: String(port), DATA_DIR: join(folder, 'data') }
    const { code, errors } = await runProcess(['start'], { environment })
    expect(code).toBe(3)
    const sentence = `Port ${port} is in use. Stop the program that uses it, or set ${name} to another port, for example ${port + 1}.`
    expect(errors).toBe(`${sentence}\n`)
    await expect(stat(join(folder, 'data'))).rejects.toThrow('ENOENT')
  },
)

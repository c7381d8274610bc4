import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { childrenOf, databaseOf, parentOf, processOf } from './usage.ts'

const isLinux = process.platform === 'linux'

test.runIf(isLinux)('processor time and memory of a program grow with its work', () => {
  const program = processOf(process.pid)
  const before = program.cpu() ?? Number.NaN
  // Measured in the process's own CPU time, because the elapsed time depends on the machine's load.
  for (const began = process.cpuUsage(); process.cpuUsage(began).user < 100_000;);
  expect(program.cpu()).toBeGreaterThan(before + 50)
  expect(program.memory()).toBeGreaterThan(10 * 1024 ** 2)
  expect(parentOf(process.pid)).toBe(process.ppid)
  expect(processOf(2 ** 30).cpu()).toBeUndefined()
  expect(databaseOf(2 ** 30).memory()).toBeUndefined()
})

test('a child process is listed from its start until its exit', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'inherit'] })
  await once(child, 'spawn')
  expect(childrenOf(process.pid)).toContain(child.pid)
  child.stdin.end()
  await once(child, 'exit')
  expect(childrenOf(process.pid)).not.toContain(child.pid)
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { availableProcessors } from './processors.ts'

test('the CPU limit of a container counts, rounded up; without one, the processors of the machine do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-processors-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'cpu.max')
  const all = availableParallelism()
  const found: [string, number][] = []
  for (const limit of ['50000 100000', '150000 100000', '100000000 100000', 'max 100000', '']) {
    await writeFile(file, `${limit}\n`)
    found.push([limit, availableProcessors(file)])
  }
  expect(found).toEqual([
    ['50000 100000', 1],
    ['150000 100000', Math.min(2, all)],
    ['100000000 100000', all],
    ['max 100000', all],
    ['', all],
  ])
  expect(availableProcessors(join(folder, 'none'))).toBe(all)
})

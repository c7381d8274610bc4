import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rulesFile } from '../../release.ts'
import { createRulesAnalyser } from './analyser.ts'
import { factsFor } from './evaluation/labels.ts'
import { analyseByRules } from './local-rules.ts'
import { RulesThread, type RulesThreadOptions } from './rules-thread.ts'

const facts = factsFor('Europe/Berlin')
const { signal } = new AbortController()

let folder: string
const threads: RulesThread[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-rules-'))
})
afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.close()))
  await rm(folder, { recursive: true, force: true })
})

function startThread(options: RulesThreadOptions): RulesThread {
  const thread = new RulesThread(options)
  threads.push(thread)
  return thread
}

/** A thread that does what the text of a note says. */
async function obedientThread(timeout?: number): Promise<RulesThread> {
  const file = join(folder, 'thread.mjs')
  await writeFile(
    file,
    `import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ values: [text] }) => {
      if (text === 'hang') for (;;);
      if (text === 'exit') process.exit(1)
      if (text === 'use memory') for (const all = [];;) all.push(Array.from({ length: 1000 }, Math.random))
      parentPort.postMessage(text === 'fail' ? { error: new Error('failed') } : { value: text })
    })`,
  )
  return startThread({ file, ...(timeout && { timeout }) })
}

test('a thread reads notes like the rules in this one, which continues meanwhile', async () => {
  const analyse = createRulesAnalyser(startThread({ file: rulesFile }))
  const text = `Please call me on 3 December at 15:00. ${'Passt es am 7. Dezember um 15 Uhr? '.repeat(200)}`
  const note = { organizationId: '', text }
  await analyse(note, facts, signal)
  const expected = await analyseByRules(note, facts, signal)
  let turns = 0
  // Reading here would take two or three iterations of the event loop. A busy machine may let only the thread run.
  for (let attempt = 0; attempt < 5 && turns <= 10; attempt++) {
    turns = 0
    let isDone = false
    const analysing = analyse(note, facts, signal).finally(() => (isDone = true))
    while (!isDone) {
      await setImmediate()
      turns++
    }
    expect({ ...(await analysing), latencyMs: 0 }).toEqual({ ...expected, latencyMs: 0 })
  }
  expect(turns).toBeGreaterThan(10)
})

test.each(['exit', 'hang', 'use memory', 'fail'])(
  'a note that makes the thread %s is an error, and the next one is read',
  async (text) => {
    const thread = await obedientThread(text === 'hang' ? 3000 : undefined)
    const results = await Promise.allSettled(['first', text, 'next'].map((one) => thread.interpret(one, facts)))
    expect(results).toEqual([
      { status: 'fulfilled', value: 'first' },
      { status: 'rejected', reason: expect.any(Error) },
      { status: 'fulfilled', value: 'next' },
    ])
  },
)

test('closing ends the thread and the call in progress', async () => {
  const thread = await obedientThread()
  const pending = thread.interpret('hang', facts)
  const outcome = expect(pending).rejects.toThrow('has ended')
  await setImmediate()
  await thread.close()
  await outcome
})

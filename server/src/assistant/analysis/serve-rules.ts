import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { localRules } from './local-rules.ts'
import type { RulesAnswer, RulesCall } from './rules-thread.ts'

/** Lower than that of the threads that answer requests. */
const priority = 2

/** Runs in a thread of its own and answers the calls of `RulesThread`. */
export function serveRules(): void {
  const port = parentPort
  if (!port) throw new Error('this is not a thread of a service')
  // Elsewhere, this would concern the whole process.
  if (process.platform === 'linux') setPriority(priority)
  port.on('message', (call: RulesCall) => {
    const answer = (given: RulesAnswer) => port.postMessage(given)
    perform(call).then(
      (value) => answer({ value }),
      (error: unknown) => answer({ error }),
    )
  })
}

const perform = (call: RulesCall) =>
  call.name === 'interpret' ? localRules.interpret(...call.values) : localRules.verify(...call.values)

import { exit } from './exit.mjs'

/** What was asked cannot be done, for a reason that the message tells in full: no stack is shown. */
export class Refusal extends Error {}

/** Runs `work`; a refusal ends the process with its message and the exit code of a refused start. */
export async function refusing(work) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    console.error(error.message)
    return exit(3)
  }
}

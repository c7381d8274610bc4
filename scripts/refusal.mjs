import { exit } from './exit.mjs'

/** An expected failure: the message explains it, so no stack trace is printed. */
export class Refusal extends Error {}

/** Runs `work`. On a `Refusal`, prints the message and exits with code 3, like a refused start. */
export async function exitOnRefusal(work) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    console.error(error.message)
    return exit(3)
  }
}

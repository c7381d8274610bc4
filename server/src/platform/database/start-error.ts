/**
 * The service cannot start. The message tells the person at the terminal what is wrong and what to do; no stack is
 * shown.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** A start that cannot go on. The message is for the person at the terminal: what is wrong and what to do; no stack. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

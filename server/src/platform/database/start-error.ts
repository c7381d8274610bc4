/** The service cannot start. The message says what is wrong and what to do; no stack is printed. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

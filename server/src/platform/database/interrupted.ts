/** Somebody asked for the end of the work, and it came to nothing; the message says what that means. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** The work was cancelled on request; the message says what state that leaves. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

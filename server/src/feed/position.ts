/** A place in the feed of an organization: after the event with this number. */
export interface Position {
  /** Names the feed; another one after a restore, when numbers are given again. */
  epoch: string
  number: number
}

const shape = /^([0-9a-f]{8})-(0|[1-9][0-9]{0,15})$/

/** A position as callers see it, which is opaque to them. */
export const formatPosition = ({ epoch, number }: Position): string => `${epoch}-${number}`

/** Undefined if the text has another form. */
export function parsePosition(text: string): Position | undefined {
  const [, epoch, number] = shape.exec(text) ?? []
  return epoch === undefined ? undefined : { epoch, number: Number(number) }
}

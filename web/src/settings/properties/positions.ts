interface Placed {
  id: string
  position: string
}

/**
 * The positions to store after a move to an index among the other items: only that of the moved item, between its
 * neighbors, or all positions if no number fits between them.
 */
export function positionsAfterMove(ordered: readonly Placed[], id: string, index: number): Placed[] {
  const others = ordered.filter((one) => one.id !== id)
  const [before, after] = [others[index - 1], others[index]].map((one) => one && Number(one.position))
  const position =
    before === undefined ? Number(after ?? 1) - 1 : after === undefined ? before + 1 : (before + after) / 2
  const isBetween = (before ?? -Infinity) < position && position < (after ?? Infinity)
  if (isBetween && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(String(position))) return [{ id, position: String(position) }]
  const moved = ordered.filter((one) => one.id === id)
  return others.toSpliced(index, 0, ...moved).map((one, place) => ({ id: one.id, position: String(place + 1) }))
}

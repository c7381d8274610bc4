/** The identity of a list item: the value of a choice, an address or a number, otherwise the whole item. */
function identityOf(item: unknown): string {
  const { value, address, number } = Object(item) as Record<string, unknown>
  const identity = value ?? address ?? number
  return identity === undefined ? JSON.stringify(item) : String(identity)
}

const isPrimary = (item: unknown): boolean => (Object(item) as { primary?: unknown }).primary === true

type Items = ReadonlyMap<string, unknown>

const byIdentity = (items: readonly unknown[]): Items => new Map(items.map((item) => [identityOf(item), item]))

/** Only the service says of an address whether mails were returned: that is nobody's change. */
const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(withReturnsOf(undefined, one)) === JSON.stringify(withReturnsOf(undefined, other))

const withReturnsOf = (present: unknown, item: unknown): unknown =>
  typeof item === 'object' && item !== null && 'bouncedAt' in item
    ? { ...item, bouncedAt: (Object(present) as { bouncedAt?: unknown }).bouncedAt }
    : item

/**
 * Merges a list that two people have changed, item by item: keeps what either added and drops what either removed.
 * Undefined if the values are not lists, or if both changed an item in different ways or chose different primary ones.
 */
export function mergeLists(before: unknown, mine: unknown, theirs: unknown): readonly unknown[] | undefined {
  const lists = [before, mine, theirs].map((value) => value ?? [])
  if (!lists.every(Array.isArray) || [mine, theirs].every((value) => value === null)) return undefined
  const [base, own, present] = lists.map((items) => byIdentity(items)) as [Items, Items, Items]
  const merged: unknown[] = []
  for (const [identity, item] of present) {
    const [old, changed] = [base.get(identity), own.get(identity)]
    if (changed === undefined && old !== undefined) {
      // Removed here, but changed by the other person.
      if (!isEqual(old, item)) return undefined
    } else if (changed === undefined || isEqual(changed, item) || isEqual(changed, old)) merged.push(item)
    else if (isEqual(item, old)) merged.push(withReturnsOf(item, changed))
    else return undefined
  }
  for (const [identity, item] of own) {
    if (present.has(identity)) continue
    const old = base.get(identity)
    if (old === undefined) merged.push(item)
    // Changed here, but removed by the other person.
    else if (!isEqual(old, item)) return undefined
  }
  return merged.filter(isPrimary).length > 1 ? undefined : merged
}

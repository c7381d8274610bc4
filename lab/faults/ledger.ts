import type { Request } from './client.ts'

/** What a contact is known to be; every one is changed by one sender alone, one change after the other. */
export interface KnownContact {
  email: string
  id: string | undefined
  nickname: string | null
  isThere: boolean
  /** Its end was asked for. */
  isLeaving?: boolean
  /** Changes acknowledged; the revision of its entity tag. */
  revision: number
  /** A change of which nobody knows whether it was made; nothing else is done to the contact until it is settled. */
  open?: OpenChange
}

export interface OpenChange {
  kind: 'create' | 'update' | 'delete'
  request: Request
  nickname: string | null
}

/** A push and, once it is acknowledged, its row. */
export interface KnownPush {
  email: string
  request: Request
  rowId: string | undefined
}

/** A contact as the service shows it. */
export interface Shown {
  id: string
  email: string | null
  nickname: string | null
}

/** What is there, by address; the empty text stands for none. */
export type Found = ReadonlyMap<string, readonly Shown[]>

/** An unknown change with a key that was repeated until it was acknowledged, and then once more. */
export interface Repetition {
  email: string
  /** Its effect was seen before it was repeated. */
  wasMade: boolean
  /** Whether each of the two answers said that it is the one of an earlier request. */
  replayed: readonly [boolean, boolean]
}

export function byAddress(shown: readonly Shown[]): Found {
  const found = new Map<string, Shown[]>()
  for (const contact of shown) found.set(contact.email ?? '', [...(found.get(contact.email ?? '') ?? []), contact])
  return found
}

/** Known contacts that are shown in no state that they may be in: lost, doubled, undone, or of another value. */
export function missing(contacts: readonly KnownContact[], found: Found): object[] {
  return contacts.flatMap((known) => {
    const { email, nickname, isThere, open } = known
    const shown = found.get(email) ?? []
    const [first] = shown
    if (shown.length > 1) return { email, shown }
    const wasNotMade = isThere ? first !== undefined && first.nickname === nickname : first === undefined
    return wasNotMade || (open && wasMade(open, first)) ? [] : { known, shown }
  })
}

const wasMade = ({ kind, nickname }: OpenChange, shown: Shown | undefined): boolean =>
  kind === 'delete' ? shown === undefined : shown !== undefined && shown.nickname === nickname

/** Addresses that nobody asked for. */
export function strangers(contacts: readonly KnownContact[], pushes: readonly KnownPush[], found: Found): string[] {
  const asked = new Set([...contacts, ...pushes].map(({ email }) => email))
  return [...found.keys()].filter((email) => !asked.has(email))
}

/** Addresses of unknown changes with a key whose effect is seen, so that to repeat them has to change nothing. */
export function madeAlready(
  contacts: readonly KnownContact[],
  pushes: readonly KnownPush[],
  found: Found,
): ReadonlySet<string> {
  const changed = contacts.filter(
    ({ email, open }) => open?.request.key !== undefined && wasMade(open, found.get(email)?.[0]),
  )
  const pushed = pushes.filter(({ email, rowId }) => rowId === undefined && found.has(email))
  return new Set([...changed, ...pushed].map(({ email }) => email))
}

/** Changes that were made again although they had been made: an update of the same value would show it in nothing else. */
export const madeAgain = (repetitions: readonly Repetition[]): Repetition[] =>
  repetitions.filter(({ wasMade, replayed: [first, second] }) => (wasMade && !first) || !second)

/** Contacts whose revision is not the number of their changes; `revisions` by id. */
export const wrongRevisions = (
  contacts: readonly KnownContact[],
  revisions: ReadonlyMap<string, number>,
): { known: KnownContact; revision: number | undefined }[] =>
  contacts.flatMap((known) => {
    const revision = revisions.get(known.id ?? '')
    return revision === known.revision ? [] : { known, revision }
  })

/** Acknowledged pushes that are no row, or the same one as another. */
export function pushesWithoutRow(pushes: readonly KnownPush[], rows: ReadonlySet<string>): KnownPush[] {
  const said = new Set<string>()
  return pushes.filter(({ rowId = '' }) => {
    const isOwn = rows.has(rowId) && !said.has(rowId)
    said.add(rowId)
    return !isOwn
  })
}

/** Pushes that did not make exactly one contact. */
export const pushesWithoutContact = (pushes: readonly KnownPush[], found: Found): KnownPush[] =>
  pushes.filter(({ email }) => found.get(email)?.length !== 1)

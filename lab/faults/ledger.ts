import type { Request } from './client.ts'

/** What a contact is known to be; every one is changed by one sender alone, one change after the other. */
export interface ExpectedContact {
  email: string
  id: string | undefined
  nickname: string | null
  exists: boolean
  /** Its end was asked for. */
  isDeleting?: boolean
  /** Changes acknowledged; the revision of its entity tag. */
  revision: number
  /** A change of which nobody knows whether it was made; nothing else is done to the contact until it is settled. */
  unknownChange?: UnknownChange
}

export interface UnknownChange {
  kind: 'create' | 'update' | 'delete'
  request: Request
  nickname: string | null
}

/** A push and, once it is acknowledged, its row. */
export interface SentPush {
  email: string
  request: Request
  rowId: string | undefined
}

/** A contact as the service shows it. */
export interface ListedContact {
  id: string
  email: string | null
  nickname: string | null
}

/** What is there, by address; the empty text stands for none. */
export type ContactsByAddress = ReadonlyMap<string, readonly ListedContact[]>

/** An unknown change with a key that was repeated until it was acknowledged, and then once more. */
export interface Repetition {
  email: string
  /** Its effect was seen before it was repeated. */
  wasApplied: boolean
  /** Whether each of the two answers said that it is the one of an earlier request. */
  replayed: readonly [boolean, boolean]
}

export function byAddress(listed: readonly ListedContact[]): ContactsByAddress {
  const found = new Map<string, ListedContact[]>()
  for (const contact of listed) found.set(contact.email ?? '', [...(found.get(contact.email ?? '') ?? []), contact])
  return found
}

/** Known contacts that are shown in no state that they may be in: lost, doubled, undone, or of another value. */
export function missing(contacts: readonly ExpectedContact[], found: ContactsByAddress): object[] {
  return contacts.flatMap((expected) => {
    const { email, nickname, exists, unknownChange } = expected
    const listed = found.get(email) ?? []
    const [first] = listed
    if (listed.length > 1) return { email, listed }
    const wasNotApplied = exists ? first !== undefined && first.nickname === nickname : first === undefined
    return wasNotApplied || (unknownChange && wasApplied(unknownChange, first)) ? [] : { expected, listed }
  })
}

const wasApplied = ({ kind, nickname }: UnknownChange, listed: ListedContact | undefined): boolean =>
  kind === 'delete' ? listed === undefined : listed !== undefined && listed.nickname === nickname

/** Addresses that nobody asked for. */
export function unexpectedAddresses(
  contacts: readonly ExpectedContact[],
  pushes: readonly SentPush[],
  found: ContactsByAddress,
): string[] {
  const requested = new Set([...contacts, ...pushes].map(({ email }) => email))
  return [...found.keys()].filter((email) => !requested.has(email))
}

/** Addresses of unknown changes with a key whose effect is seen, so that to repeat them has to change nothing. */
export function alreadyApplied(
  contacts: readonly ExpectedContact[],
  pushes: readonly SentPush[],
  found: ContactsByAddress,
): ReadonlySet<string> {
  const changed = contacts.filter(
    ({ email, unknownChange }) =>
      unknownChange?.request.key !== undefined && wasApplied(unknownChange, found.get(email)?.[0]),
  )
  const pushed = pushes.filter(({ email, rowId }) => rowId === undefined && found.has(email))
  return new Set([...changed, ...pushed].map(({ email }) => email))
}

/** Changes that were made again although they had been made: an update of the same value would show it in nothing else. */
export const appliedTwice = (repetitions: readonly Repetition[]): Repetition[] =>
  repetitions.filter(({ wasApplied, replayed: [first, second] }) => (wasApplied && !first) || !second)

/** Contacts whose revision is not the number of their changes; `revisions` by id. */
export const wrongRevisions = (
  contacts: readonly ExpectedContact[],
  revisions: ReadonlyMap<string, number>,
): { expected: ExpectedContact; revision: number | undefined }[] =>
  contacts.flatMap((expected) => {
    const revision = revisions.get(expected.id ?? '')
    return revision === expected.revision ? [] : { expected, revision }
  })

/** Acknowledged pushes that are no row, or the same one as another. */
export function pushesWithoutRow(pushes: readonly SentPush[], rows: ReadonlySet<string>): SentPush[] {
  const seenIds = new Set<string>()
  return pushes.filter(({ rowId = '' }) => {
    const isOwn = rows.has(rowId) && !seenIds.has(rowId)
    seenIds.add(rowId)
    return !isOwn
  })
}

/** Pushes that did not make exactly one contact. */
export const pushesWithoutContact = (pushes: readonly SentPush[], found: ContactsByAddress): SentPush[] =>
  pushes.filter(({ email }) => found.get(email)?.length !== 1)

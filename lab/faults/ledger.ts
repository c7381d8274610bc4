import type { Request } from './client.ts'

/** The expected state of a contact. Only one writer changes it, one change at a time. */
export interface ExpectedContact {
  email: string
  id: string | undefined
  nickname: string | null
  exists: boolean
  /** Its deletion was requested. */
  isDeleting?: boolean
  /** Number of acknowledged changes; must match the revision in its ETag. */
  revision: number
  /** A change that may or may not have been made. The contact is not changed again until its outcome is known. */
  unknownChange?: UnknownChange
}

export interface UnknownChange {
  kind: 'create' | 'update' | 'delete'
  request: Request
  nickname: string | null
}

/** A push, and its row once acknowledged. */
export interface SentPush {
  email: string
  request: Request
  rowId: string | undefined
}

/** A contact as the service returns it. */
export interface ListedContact {
  id: string
  email: string | null
  nickname: string | null
}

/** Stored contacts by address; the empty text is used for contacts without one. */
export type ContactsByAddress = ReadonlyMap<string, readonly ListedContact[]>

/** An unknown change with a key, repeated until it was acknowledged and then once more. */
export interface Repetition {
  /** The address of the contact, or the name of the deal. */
  subject: string
  /** Whether its effect was visible before it was repeated. */
  wasApplied: boolean
  /** Whether each of the two responses was a replay of an earlier one. */
  replayed: readonly [boolean, boolean]
}

export function byAddress(listed: readonly ListedContact[]): ContactsByAddress {
  const found = new Map<string, ListedContact[]>()
  for (const contact of listed) found.set(contact.email ?? '', [...(found.get(contact.email ?? '') ?? []), contact])
  return found
}

/** Contacts whose stored state is not allowed: lost, duplicated, undone, or with another value. */
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

/** Stored addresses that no request contained. */
export function unexpectedAddresses(
  contacts: readonly ExpectedContact[],
  pushes: readonly SentPush[],
  found: ContactsByAddress,
): string[] {
  const requested = new Set([...contacts, ...pushes].map(({ email }) => email))
  return [...found.keys()].filter((email) => !requested.has(email))
}

/** Addresses of unknown changes with a key whose effect is visible, so that repeating them must change nothing. */
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

/**
 * Repetitions that applied a change again. Only the replay header shows this for an update with the same value.
 */
export const appliedTwice = (repetitions: readonly Repetition[]): Repetition[] =>
  repetitions.filter(({ wasApplied, replayed: [first, second] }) => (wasApplied && !first) || !second)

/** Contacts whose revision differs from the number of their changes; `revisions` by id. */
export const wrongRevisions = (
  contacts: readonly ExpectedContact[],
  revisions: ReadonlyMap<string, number>,
): { expected: ExpectedContact; revision: number | undefined }[] =>
  contacts.flatMap((expected) => {
    const revision = revisions.get(expected.id ?? '')
    return revision === expected.revision ? [] : { expected, revision }
  })

/** Acknowledged pushes without a row, or with the same row as another push. */
export function pushesWithoutRow(pushes: readonly SentPush[], rows: ReadonlySet<string>): SentPush[] {
  const seenIds = new Set<string>()
  return pushes.filter(({ rowId = '' }) => {
    const isOwn = rows.has(rowId) && !seenIds.has(rowId)
    seenIds.add(rowId)
    return !isOwn
  })
}

/** Pushes that did not create exactly one contact. */
export const pushesWithoutContact = (pushes: readonly SentPush[], found: ContactsByAddress): SentPush[] =>
  pushes.filter(({ email }) => found.get(email)?.length !== 1)

/** What an entry reports. */
export const entryKinds = [
  'assigned',
  'mentioned',
  'suggestion',
  'importFailed',
  'webhookDisabled',
  'reminder',
  'taskDue',
] as const
export type EntryKind = (typeof entryKinds)[number]

/** The ways in which a person can hear of something: `mail` is sent at once, `digest` is a mail of many entries. */
export const entryWays = ['inbox', 'digest', 'mail', 'push'] as const
export type EntryWay = (typeof entryWays)[number]

export const isUrgent = (kind: EntryKind): boolean => kind === 'reminder' || kind === 'taskDue'

/** What is urgent cannot wait for a digest, and everything else need not be mailed at once. */
export const waysFor = (kind: EntryKind): readonly EntryWay[] =>
  isUrgent(kind) ? ['inbox', 'mail', 'push'] : ['inbox', 'digest', 'push']

/** Many tasks of a person become overdue at the same time, at the end of a day. */
export const defaultWaysFor = (kind: EntryKind): readonly EntryWay[] =>
  kind === 'reminder' ? ['inbox', 'mail'] : ['inbox']

/** The ways that a person has chosen, by kind. */
export type Ways = Readonly<Record<EntryKind, readonly EntryWay[]>>

/** `chosen`: as it is stored, only where it differs from the defaults. */
export const waysOf = (chosen: Partial<Ways>): Ways =>
  Object.fromEntries(entryKinds.map((kind) => [kind, chosen[kind] ?? defaultWaysFor(kind)])) as Ways

export const weekDays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
export type WeekDay = (typeof weekDays)[number]

/** What happened to a record. */
export const eventKinds = [
  'created',
  'updated',
  'deleted',
  'restored',
  'purged',
  'erased',
  'blocked',
  'unblocked',
  'moved',
  'accepted',
  'rejected',
] as const
export type EventKind = (typeof eventKinds)[number]

/** The kinds that timelines show; there, a move is an update with an entry of its own. */
export const changeActions = ['created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked'] as const

/** Who made a change: a logged-in person, an API key, an import, a command of the operator, or the analysis of a note. */
export const changeSources = ['person', 'api_key', 'import', 'command', 'analysis'] as const
export type ChangeSource = (typeof changeSources)[number]

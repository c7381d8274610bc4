import type { Caller } from '../model/caller.ts'
import { showId } from '../model/ids.ts'
import type { ActorKind } from './store.ts'

/** What the log tells of a person (uuid) who did something: who it was, and from where. */
export const userActor = (userId: string, { address, requestId }: { address: string; requestId: string }) => ({
  actorKind: 'user' as const,
  actorId: showId('usr', userId),
  address,
  requestId,
})

/** The same of what they did to their own account. */
export const ownAccountEvent = (userId: string, client: { address: string; requestId: string }) => ({
  ...userActor(userId, client),
  recordType: 'user',
  recordId: showId('usr', userId),
})

/** The caller as the audit log names it: the key itself, or the person whose session it is. */
export const actorOf = (caller: Caller): { actorKind: ActorKind; actorId: string } =>
  caller.kind === 'key'
    ? { actorKind: 'key', actorId: showId('key', caller.credentialId) }
    : { actorKind: 'user', actorId: showId('usr', caller.userId) }

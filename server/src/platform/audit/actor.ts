import type { Caller } from '../model/caller.ts'
import { encodeId } from '../model/ids.ts'
import type { ActorKind } from './store.ts'

/** The audit log's fields for a person (uuid): who they are and where the request came from. */
export const userActor = (userId: string, { address, requestId }: { address: string; requestId: string }) => ({
  actorKind: 'user' as const,
  actorId: encodeId('usr', userId),
  address,
  requestId,
})

export const ownAccountEvent = (userId: string, client: { address: string; requestId: string }) => ({
  ...userActor(userId, client),
  recordType: 'user',
  recordId: encodeId('usr', userId),
})

/** The caller as the audit log names it: the API key, or the session's user. */
export const actorOf = (caller: Caller): { actorKind: ActorKind; actorId: string } =>
  caller.kind === 'key'
    ? { actorKind: 'key', actorId: encodeId('key', caller.credentialId) }
    : { actorKind: 'user', actorId: encodeId('usr', caller.userId) }

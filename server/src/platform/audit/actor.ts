import type { Caller } from '../access/caller.ts'
import { showId } from '../resource/ids.ts'
import type { ActorKind } from './actions.ts'

/** The caller as the audit log names it: the key itself, or the person whose session it is. */
export const actorOf = (caller: Caller): { actorKind: ActorKind; actorId: string } =>
  caller.kind === 'key'
    ? { actorKind: 'key', actorId: showId('key', caller.credentialId) }
    : { actorKind: 'user', actorId: showId('usr', caller.userId) }

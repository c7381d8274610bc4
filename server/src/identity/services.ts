import type { Egress } from '../platform/egress/egress.ts'
import type { Sessions } from './access/sessions.ts'
import type { Throttle } from './access/throttle.ts'
import type { AddFirstRecords } from './organizations/store.ts'
import type { RemoveBelongings } from './members/store.ts'
import type { Tokens } from './access/tokens.ts'

/** Services that only the identity routes use. */
declare module '../platform/http/route.ts' {
  interface Services {
    sessions: Sessions
    tokens: Tokens
    throttle: Throttle
    /** The only way to connect to addresses chosen by others. */
    egress: Egress
    /** Who can create an account: anyone, only invited people, or nobody. */
    signUp: 'open' | 'invite' | 'closed'
    addFirstRecords: AddFirstRecords
    removeBelongings: RemoveBelongings
    /** Wake it after a queued mail is committed. */
    mail: { wake(): void }
  }
}

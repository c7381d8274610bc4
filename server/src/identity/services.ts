import type { Egress } from '../platform/egress/egress.ts'
import type { Sessions } from './access/sessions.ts'
import type { Throttle } from './access/throttle.ts'
import type { Tokens } from './access/tokens.ts'

/** What the routes of identity use besides. */
declare module '../platform/http/route.ts' {
  interface Services {
    sessions: Sessions
    tokens: Tokens
    throttle: Throttle
    /** The one way out to addresses that somebody else chose. */
    egress: Egress
    /** Who may make an account: anyone, who was invited, nobody. */
    signUp: 'open' | 'invite' | 'closed'
    /** To be woken once a mail that was queued is committed. */
    mail: { wake(): void }
  }
}

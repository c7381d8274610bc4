import type { Intake } from './intake/push.ts'

/** What the routes of imports use besides. */
declare module '../../platform/http/route.ts' {
  interface Services {
    intake: Intake
  }
}

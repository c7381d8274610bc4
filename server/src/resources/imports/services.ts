import type { Intake } from './intake/push.ts'

/** Adds the intake to the services that routes use. */
declare module '../../platform/http/route.ts' {
  interface Services {
    intake: Intake
  }
}

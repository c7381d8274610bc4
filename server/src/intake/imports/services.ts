import type { Refusals } from '../accept/refusals.ts'
import type { Intake } from '../accept/push.ts'

/** Adds the intake to the services that routes use. */
declare module '../../platform/http/route.ts' {
  interface Services {
    intake: Intake
    refusals: Refusals
    /** Wake it after rows of the organization (uuid) were queued again. */
    importWork: { wake(organizationId: string): void }
  }
}

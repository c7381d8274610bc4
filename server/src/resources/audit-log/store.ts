import { standardStore } from '../../platform/resource/routes.ts'
import { auditEvents } from './resource.ts'

/** Read alone: `recordEvent` is what adds to it. */
export const auditEventStore = standardStore(auditEvents)

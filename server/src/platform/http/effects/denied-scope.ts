import type { Caller } from '../../model/caller.ts'
import { ApiError } from '../../model/errors.ts'
import { covers, missingScopeReason } from '../../model/scopes.ts'
import type { Client, Services } from '../route.ts'

interface ScopedRequest {
  services: Services
  caller: Caller
  client: Client
  /** The path of the route. */
  route: string
}

/** The 403 for a missing scope; the audit log records it. Only for a credential that was confirmed to be valid. */
export function deniedScope({ services, caller, client, route }: ScopedRequest, needed: string): ApiError {
  const scope = `urn:service:${needed}`
  services.denials.record(caller, client, { action: 'scope.denied', scopeOrReason: scope, route })
  return new ApiError('missing_scopes', missingScopeReason(needed), { details: [{ field: 'scope', message: scope }] })
}

/** Checks a scope that the route needs only for some requests. Throws 403. */
export async function assertScope(request: ScopedRequest, needed: string): Promise<void> {
  const { services, caller } = request
  if (covers(caller.scopes, needed)) return
  await services.identifier.confirm(caller)
  throw deniedScope(request, needed)
}

import { refusedScopes } from '../identity/access/grants.ts'
import type { Services } from '../platform/http/route.ts'
import type { Caller } from '../platform/model/caller.ts'
import { ApiError, invalidBody } from '../platform/model/errors.ts'
import type { JsonObject } from '../platform/model/json.ts'

/** Plain http is allowed only for hosts that the operator has named. Error: 422. */
export function assertUrl({ egress }: Pick<Services, 'egress'>, { url }: JsonObject): void {
  if (typeof url !== 'string') return
  const parsed = new URL(url)
  const isOpen = parsed.username !== '' || parsed.password !== ''
  if (!isOpen && (parsed.protocol === 'https:' || egress.isAllowed(parsed))) return
  const message = isOpen
    ? 'must not contain a name or a password; send them in a header'
    : 'must start with https://, unless EGRESS_ALLOW and PLAINTEXT_HOSTS name its host'
  throw invalidBody([{ field: 'url', message }])
}

/**
 * A webhook sends what its scopes show of the whole organization, also after its maker has left. So it is for those who
 * have the scopes and see all records. Errors: 403.
 */
export function assertMaySend(caller: Caller, scopes: readonly string[]): void {
  const isRestricted = Object.values(caller.reach?.levels ?? {}).some((level) => level !== 'all')
  if (isRestricted)
    throw new ApiError(
      'insufficient_permissions',
      'A webhook sends records of everyone, and your role does not see all of them. Ask an owner or an admin.',
    )
  const refused = refusedScopes(caller, scopes)
  if (refused.length === 0) return
  throw new ApiError('missing_scopes', 'You can give a webhook only scopes that you have.', {
    details: refused.map((scope) => ({ field: 'scopes', message: scope })),
  })
}

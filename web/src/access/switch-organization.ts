import { useNavigate, useRouter } from '@tanstack/react-router'
import { api } from '../api/client.ts'
import { forgetAll } from '../api/query-client.ts'
import { forgetAccessToken } from '../api/session.ts'

/** Switches to another of the person's organizations, at its start page. */
export function useSwitchOrganization(): (organizationId: string) => Promise<void> {
  const navigate = useNavigate()
  const router = useRouter()
  return async (organizationId) => {
    await api.POST('/v5/me/organization', { body: { organizationId } })
    forgetAccessToken()
    forgetAll()
    await navigate({ to: '/' })
    await router.invalidate()
  }
}

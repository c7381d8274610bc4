import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useLocation, useRouter } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { api, type Schemas, send, sendAll } from '../api/client.ts'
import { forgetAll } from '../api/query-client.ts'
import { forgetAccessToken } from '../api/session.ts'
import { LaterMessages } from '../messages/later-messages.tsx'
import { Loading } from '../ui/states.tsx'
import { Button, buttonClasses } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import styles from './access.module.css'
import { Card } from './card.tsx'
import { AuthenticatorPanel } from './profile/authenticator.tsx'
import { useFactors } from './profile/queries.ts'
import { PasskeysPanel } from './profile/passkeys-panel.tsx'
import { useAct } from './profile/use-act.ts'

/**
 * Shown if the current organization refuses this session: a second factor is required, or the person is no longer a
 * member.
 */
export function NoOrganization() {
  return (
    <LaterMessages>
      <Content />
    </LaterMessages>
  )
}

function Content() {
  const t = useTranslations('entrance.noOrganization')
  const needsFactor = new URLSearchParams(useLocation().searchStr).get('reason') === 'second_factor_required'
  const footer = (
    <Link to="/logout" className={styles.textLink}>
      {t('logOut')}
    </Link>
  )
  const organizations = useQuery(ownOrganizations)
  const current = organizations.data?.find(({ isCurrent }) => isCurrent)
  if (!needsFactor) {
    const lead = organizations.isPending ? undefined : t(current?.deletesAt ? 'deletedLead' : 'lead')
    return (
      <Card title={t('title')} lead={lead} footer={footer}>
        <Choice />
      </Card>
    )
  }
  return (
    <Card title={t('factorTitle')} lead={t('factorLead')} footer={footer}>
      <Suspense fallback={<Loading />}>
        <FactorSetup />
      </Suspense>
      <Choice />
    </Card>
  )
}

/** A factor that is set up here counts for this session at once; an existing factor requires a new log-in. */
function FactorSetup() {
  const t = useTranslations('entrance.noOrganization')
  const { totp, passkeys } = useFactors()
  const hasFactor = totp !== null || passkeys.length > 0
  return (
    <>
      <AuthenticatorPanel />
      <PasskeysPanel />
      {hasFactor && (
        <Link to="/" className={buttonClasses('primary', true)}>
          {t('continue')}
        </Link>
      )}
    </>
  )
}

type OwnOrganization = Schemas['OwnOrganizations'][number]

const ownOrganizations = queryOptions({
  queryKey: ['me', 'organizations'],
  queryFn: () => sendAll<OwnOrganization>('/v5/me/organizations'),
})

function Choice() {
  const t = useTranslations('entrance.noOrganization')
  const act = useAct()
  const router = useRouter()
  const organizations = useQuery(ownOrganizations)
  if (organizations.error) return <Failure error={organizations.error} onRetry={() => void organizations.refetch()} />
  const open = (organizationId: string) =>
    act(async () => {
      await api.POST('/v5/me/organization', { body: { organizationId } })
      forgetAccessToken()
      forgetAll()
      router.history.replace('/')
    })
  if (organizations.data?.length === 0) return <p>{t('none')}</p>
  return (
    <div className={styles.stack}>
      {organizations.data?.map((organization) =>
        organization.deletesAt === null ? (
          <Button key={organization.id} isWide onClick={() => void open(organization.id)}>
            {t('open', { name: organization.name })}
          </Button>
        ) : (
          <Deleted key={organization.id} {...organization} deletesAt={organization.deletesAt} />
        ),
      )}
    </div>
  )
}

/** An organization that is scheduled for deletion; its owners can cancel that. */
function Deleted({ id, name, role, deletesAt }: OwnOrganization & { deletesAt: string }) {
  const t = useTranslations('entrance.noOrganization')
  const format = useFormatter()
  const act = useAct()
  const keep = () => act(() => send('DELETE', `/v5/me/organizations/${id}/deletion`), t('kept', { name }))
  const date = format.dateTime(new Date(deletesAt), { dateStyle: 'long' })
  return (
    <>
      <p>{t('deleted', { name, date })}</p>
      {role === 'owner' ? (
        <Button isWide onClick={() => void keep()}>
          {t('keep', { name })}
        </Button>
      ) : (
        <p>{t('askToKeep')}</p>
      )}
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { Loading } from '../ui/states.tsx'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { useMay } from '../api/permissions.ts'
import type { Mail, MailContent } from './records.ts'

/** How the invitation reaches the person: by mail, or, without a mail server, by a link that an owner copies. */
export function InvitationLink({ email }: { email: string }) {
  const t = useTranslations('settings.invitations')
  const may = useMay()
  const mail = useQuery({
    queryKey: ['mails', 'invitation', email],
    queryFn: () => latestInvitationTo(email),
    // The mail is written shortly after the invitation is stored.
    refetchInterval: ({ state }) => (state.data?.status === 'queued' ? 700 : false),
    gcTime: 0,
  })
  if (mail.error) return <Failure error={mail.error} onRetry={() => void mail.refetch()} />
  if (mail.isPending) return <Loading />
  const { id, status, lastError } = mail.data ?? {}
  if (status === 'queued') return <p role="status">{t('sending')}</p>
  if (status === 'sent') return <p>{t('sentText')}</p>
  if (status === 'failed') return <p>{t('failedText', { reason: lastError ?? '' })}</p>
  if (status !== 'kept' || id === undefined) return <p>{t('goneText')}</p>
  return may('mail-content:get:read') ? <Link mailId={id} /> : <p>{t('askOwner')}</p>
}

/** Anyone with the link can join, so it is fetched, and logged in the audit log, only on request. */
function Link({ mailId }: { mailId: string }) {
  const t = useTranslations('settings.invitations')
  const act = useAct()
  const [link, setLink] = useState<string>()
  const [isRefused, setRefused] = useState(false)
  const show = () =>
    void act(
      async () => {
        try {
          const { body } = await send<MailContent>('GET', `/v5/mails/${mailId}/content`)
          setLink(body.links[0])
        } catch (error) {
          if (!(error instanceof ApiError && error.code === 'insufficient_permissions')) throw error
          setRefused(true)
        }
      },
      { refresh: ['audit-log'] },
    )
  if (isRefused) return <p role="status">{t('askOperator')}</p>
  if (link !== undefined) return <CopyField label={t('link')} value={link} />
  return (
    <>
      <p>{t('noMailServer')}</p>
      <div>
        <Button kind="primary" onClick={show}>
          {t('showLink')}
        </Button>
      </div>
    </>
  )
}

async function latestInvitationTo(email: string): Promise<Mail | null> {
  const filter = { 'filter.kind.equals': 'invitation', 'filter.recipient.equals': email, limit: '1' }
  const { body } = await send<Mail[]>('GET', '/v5/mails', { query: new URLSearchParams(filter) })
  return body[0] ?? null
}

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { currentLanguage, timeZone } from '../preferences/locale.ts'
import { api, dataOf, sendPublic } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { accessToken, forgetAccessToken, type Tokens } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { Form } from '../ui/form.tsx'
import styles from './access.module.css'
import { AccountOf, accountErrors, PersonFields } from './account-forms.tsx'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { logOut } from './logout.tsx'

interface InvitationProps {
  token: string
  invitation: CheckedDetails
}

/** Joins an organization with the account that is logged in, or creates a new account. */
export function InvitationForm({ token, invitation }: InvitationProps) {
  const t = useTranslations('entrance.invitation')
  const [isOther, setOther] = useState(false)
  const session = useQuery({
    queryKey: ['is-logged-in'],
    queryFn: async () => (await accessToken()) !== undefined,
    gcTime: 0,
  })
  if (session.isPending) return <Card title={t('title')} />
  if (session.data === true && !isOther) {
    return <Join token={token} invitation={invitation} onOtherAddress={() => setOther(true)} />
  }
  return <NewAccount token={token} invitation={invitation} isOther={isOther} />
}

function useLead({ organization, email, role }: CheckedDetails): string | undefined {
  const t = useTranslations('entrance.invitation')
  const roles = useTranslations('entrance.roles')
  if (organization === undefined) return undefined
  const known = (['owner', 'admin', 'member', 'viewer'] as const).find((one) => one === role)
  return t('lead', { organization, email: email ?? '', role: known ? roles(known) : (role ?? '') })
}

function Join({ token, invitation, onOtherAddress }: InvitationProps & { onOtherAddress(): void }) {
  const t = useTranslations('entrance.invitation')
  const enter = useEnter()
  const lead = useLead(invitation)
  const join = async () => {
    try {
      const { id } = await dataOf(api.POST('/v5/me/invitations', { body: { token } }))
      await api.POST('/v5/me/organization', { body: { organizationId: id } })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'insufficient_permissions')) throw error
      onOtherAddress()
      return
    }
    // The organization is in the next access token.
    forgetAccessToken()
    enter({ accessToken: (await accessToken()) ?? '' })
  }
  return (
    <Card key="join" title={t('joinTitle')} lead={lead}>
      <Form submitLabel={t('join')} isWide onSubmit={join}>
        {() => <p>{t('joinText')}</p>}
      </Form>
    </Card>
  )
}

function NewAccount({ token, invitation, isOther }: InvitationProps & { isOther: boolean }) {
  const t = useTranslations('entrance.invitation')
  const navigate = useNavigate()
  const enter = useEnter()
  const lead = useLead(invitation)
  const submit = async (values: object) =>
    enter(
      await sendPublic<Tokens>('/auth/invitations/accept', {
        ...values,
        timeZone,
        language: currentLanguage(),
        token,
        cookie: true,
      }),
    )
  // The link still works afterwards.
  const useOwnAccount = async () => {
    if (isOther) await logOut()
    await navigate({ to: '/login', search: { next: '/account' } })
  }
  return (
    <Card
      key="new"
      title={t('title')}
      lead={lead}
      footer={
        <>
          <p>{t('hasAccount')}</p>
          <Button kind="quiet" onClick={() => void useOwnAccount()}>
            {t('logIn')}
          </Button>
        </>
      }
    >
      {isOther && (
        <p role="alert" className={styles.notice}>
          {t('otherAddress', { email: invitation.email ?? '' })}
        </p>
      )}
      <Form submitLabel={t('submit')} isWide onSubmit={submit}>
        {(errorOf) => (
          <>
            <AccountOf email={invitation.email} />
            <PersonFields errors={accountErrors(errorOf)} email={invitation.email} />
          </>
        )}
      </Form>
    </Card>
  )
}

/** Details of a link that still works; without them if the request failed. */
export interface CheckedDetails {
  email?: string | null
  organization?: string
  role?: string
}

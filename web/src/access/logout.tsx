import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import { accessToken, endSession, withSessionLock } from '../api/session.ts'
import { forgetPerson, keepPreferences } from '../preferences/storage.ts'
import { buttonClasses } from '../ui/button.tsx'
import { Form } from '../ui/form.tsx'
import { Card } from './card.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Set by the menu: a link from elsewhere must not log the person out. */
    isLogOutWanted?: boolean
  }
}

/** Ends this browser's session. */
export async function logOut(): Promise<void> {
  await keepPreferences(() => withSessionLock(() => sendPublic('/auth/logout', {})))
  // Not every browser honours the service's Clear-Site-Data.
  forgetPerson()
  endSession()
}

/** Logs out at once if the person chose that in the application; otherwise asks first. */
export function Logout() {
  const t = useTranslations('entrance.logout')
  const queryClient = useQueryClient()
  const isWanted = useLocation().state.isLogOutWanted === true
  const session = useQuery({
    queryKey: ['is-logged-in'],
    queryFn: async () => {
      if (isWanted) await logOut()
      return (await accessToken()) !== undefined
    },
    gcTime: 0,
  })
  useEffect(() => {
    if (session.data === false)
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'is-logged-in' })
  }, [session.data, queryClient])
  if (session.isPending) return <Card title={t('title')} />
  if (session.data === false) {
    return (
      <Card title={t('doneTitle')} lead={t('doneLead')}>
        <Link to="/login" className={buttonClasses('primary', true)}>
          {t('logIn')}
        </Link>
      </Card>
    )
  }
  const submit = async () => {
    await logOut()
    await session.refetch()
  }
  return (
    <Card key="form" title={t('title')} lead={t('lead')}>
      <Form submitLabel={t('submit')} isWide onSubmit={submit}>
        {() => null}
      </Form>
    </Card>
  )
}

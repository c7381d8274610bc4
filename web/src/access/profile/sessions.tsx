import { useSuspenseQuery } from '@tanstack/react-query'
import { Monitor, Smartphone } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { Tag } from '../../ui/tag.tsx'
import { Time } from '../../ui/time.tsx'
import { sessionsQuery } from './queries.ts'
import { useAct } from './use-act.ts'

/** Where the person is logged in. */
export function SessionsPanel() {
  const t = useTranslations('profile.sessions')
  const act = useAct()
  const { data: sessions } = useSuspenseQuery(sessionsQuery)
  const [isEndingOthers, setEndingOthers] = useState(false)
  const others = sessions.filter(({ isCurrent }) => !isCurrent)
  const end = (sessionId: string) => api.DELETE('/v5/me/sessions/{sessionId}', { params: { path: { sessionId } } })
  // The request that ends all sessions also ends this one.
  const endOthers = () => act(() => Promise.all(others.map(({ id }) => end(id))), t('othersEnded'))
  return (
    <Panel
      title={t('title')}
      description={t('text')}
      actions={others.length > 0 && <Button onClick={() => setEndingOthers(true)}>{t('endOthers')}</Button>}
    >
      <List label={t('title')}>
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} onEnd={() => act(() => end(session.id), t('ended'))} />
        ))}
      </List>
      <ConfirmDialog
        title={t('endOthersTitle', { count: others.length })}
        description={t('endOthersText')}
        action={t('endOthers')}
        isOpen={isEndingOthers}
        onClose={() => setEndingOthers(false)}
        onConfirm={endOthers}
      />
    </Panel>
  )
}

interface SessionRowProps {
  session: { isCurrent: boolean; device: string; address: string | null; lastUsedAt: string }
  onEnd(): Promise<void>
}

function SessionRow({ session: { isCurrent, device, address, lastUsedAt }, onEnd }: SessionRowProps) {
  const t = useTranslations('profile.sessions')
  const [isBusy, setBusy] = useState(false)
  const Icon = /iOS|Android/.test(device) ? Smartphone : Monitor
  const end = async () => {
    setBusy(true)
    await onEnd()
    setBusy(false)
  }
  return (
    <ListRow
      leading={<Icon size={16} strokeWidth={1.75} aria-hidden />}
      title={device}
      text={
        <>
          {address !== null && `${address} · `}
          {t('lastUsed')} <Time value={lastUsedAt} />
        </>
      }
    >
      {isCurrent ? (
        <Tag tint="green" hasDot>
          {t('current')}
        </Tag>
      ) : (
        <Button isBusy={isBusy} aria-label={t('endNamed', { device })} onClick={() => void end()}>
          {t('end')}
        </Button>
      )}
    </ListRow>
  )
}

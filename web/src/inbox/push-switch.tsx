import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { queryClient } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { List, ListRow, Panel } from '../ui/page.tsx'
import { Loading } from '../ui/states.tsx'
import { Tag } from '../ui/tag.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { pushQuery, type PushState, turnOff, turnOn } from './push.ts'

/** Switches the notifications of this browser on and off. */
export function PushSwitch() {
  const t = useTranslations('push')
  const { data: state, error, refetch } = useQuery(pushQuery)
  return (
    <Panel title={t('title')} description={t('text')}>
      {error && state === undefined && <Failure error={error} onRetry={() => void refetch()} />}
      {state === undefined && !error && <Loading />}
      {state !== undefined && (
        <List label={t('title')}>
          <SwitchRow state={state} />
        </List>
      )}
    </Panel>
  )
}

function SwitchRow({ state }: { state: PushState }) {
  const t = useTranslations('push')
  const notifyFailure = useNotifyFailure()
  const [isBusy, setBusy] = useState(false)
  const act = async (action: () => Promise<void>, done: string) => {
    setBusy(true)
    try {
      await action()
      await queryClient.refetchQueries(pushQuery)
      const isDone = queryClient.getQueryData(pushQuery.queryKey) !== state
      if (isDone && Notification.permission !== 'denied') notify(done)
    } catch (error) {
      // The browser refuses with an error of its own, such as for a private window.
      notifyFailure(error instanceof DOMException ? new Error(t('refused')) : error)
    }
    setBusy(false)
  }
  return (
    <ListRow title={t('browser')} text={t(`states.${state}`)}>
      {state === 'on' && (
        <>
          <Tag tint="green" hasDot>
            {t('on')}
          </Tag>
          <Button isBusy={isBusy} onClick={() => void act(turnOff, t('turnedOff'))}>
            {t('turnOff')}
          </Button>
        </>
      )}
      {state === 'off' && (
        <Button isBusy={isBusy} onClick={() => void act(turnOn, t('turnedOn'))}>
          {t('turnOn')}
        </Button>
      )}
    </ListRow>
  )
}

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { notify } from '../../ui/toast.tsx'
import { path } from './data.ts'

/** Sends all events since a time again. */
export function ReplaySince({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const t = useTranslations('settings.webhooks')
  const post = usePostOnce()
  const [local, setLocal] = useState('')
  const since = timeOf(local)
  const { data: found } = useQuery({
    queryKey: ['webhooks', webhookId, 'replayed', since],
    queryFn: () => countSince(webhookId, since ?? ''),
    enabled: since !== undefined,
    placeholderData: keepPreviousData,
  })
  const submit = async () => {
    await change(['webhooks'], () => post(`${path}/${webhookId}/replay`, since === undefined ? {} : { since }))
    notify(t('replaySinceDone'))
    onClose()
  }
  return (
    <Form submitLabel={t('sendAgain')} onCancel={onClose} onSubmit={submit}>
      {(errorOf) => (
        <>
          <TextField
            type="datetime-local"
            name="since"
            label={t('since')}
            value={local}
            error={errorOf('since')}
            onChange={(event) => setLocal(event.target.value)}
          />
          <p role="status">
            {since !== undefined &&
              found !== undefined &&
              t(found.isEstimate ? 'replaySinceEstimate' : 'replaySinceCount', { count: found.eventCount })}
          </p>
        </>
      )}
    </Form>
  )
}

/** The instant of a day and time in this browser's zone. Of a year that is still being typed: undefined. */
function timeOf(local: string): string | undefined {
  const time = local >= '2000' ? Date.parse(local) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

async function countSince(webhookId: string, since: string): Promise<Schemas['ReplayedWebhook']> {
  const query = new URLSearchParams({ dryRun: 'true' })
  const { body } = await send<Schemas['ReplayedWebhook']>('POST', `${path}/${webhookId}/replay`, {
    query,
    body: { since },
  })
  return body
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { useResource } from '../api/schema.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { type Import, importsKey, rowsPathOf, type RowStatus } from './import-queries.ts'
import styles from './imports.module.css'
import { cancellable, chosenStatuses, failed, retryable, sumOf, withStatuses } from './row-states.ts'

type RowsChanged = Schemas['RowsChanged']

interface Action {
  name: 'retry' | 'cancel'
  path: string
  filters: Record<string, string>
}

/** Buttons to retry all failed rows and to cancel all waiting ones, among those that match the filters. */
export function BulkActions({ one, filters }: { one: Import; filters: Record<string, string> }) {
  const t = useTranslations('imports')
  const mayChange = useResource('rows')?.permissions.update === true
  const [action, setAction] = useState<Action>()
  if (!mayChange) return null
  const chosen = chosenStatuses(filters)
  const actionOf = (name: Action['name'], statuses: readonly RowStatus[]): Action => ({
    name,
    path: `${rowsPathOf(one.id)}/${name}`,
    filters: withStatuses(filters, statuses) as Record<string, string>,
  })
  // Unless that state is chosen, cancelled rows are not retried: somebody cancelled them on purpose.
  const toRetry = chosen.length === 0 ? failed : chosen.filter((status) => retryable.includes(status))
  const toCancel = chosen.length === 0 ? cancellable : chosen.filter((status) => cancellable.includes(status))
  return (
    <div className={styles.actions}>
      {sumOf(one.stats.counts, toRetry) > 0 && (
        <Button onClick={() => setAction(actionOf('retry', toRetry))}>
          {t(chosen.length === 0 ? 'retryAll' : 'retryShown')}
        </Button>
      )}
      {sumOf(one.stats.counts, toCancel) > 0 && (
        <Button onClick={() => setAction(actionOf('cancel', toCancel))}>
          {t(chosen.length === 0 ? 'cancelAll' : 'cancelShown')}
        </Button>
      )}
      <Dialog
        title={t(action?.name === 'cancel' ? 'cancelRowsTitle' : 'retryRowsTitle')}
        isOpen={action !== undefined}
        onClose={() => setAction(undefined)}
      >
        {action && <BulkDialog action={action} onClose={() => setAction(undefined)} />}
      </Dialog>
    </div>
  )
}

/** Counts the rows with a dry run, then changes them in steps until none remains. */
function BulkDialog({ action, onClose }: { action: Action; onClose(): void }) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const notifyFailure = useNotifyFailure()
  const format = useFormatter()
  const [done, setDone] = useState<number>()
  const { name, path, filters } = action
  const dryRun = useQuery({
    queryKey: ['bulk', path, filters],
    gcTime: 0,
    staleTime: Infinity,
    queryFn: async () => {
      const query = new URLSearchParams({ ...filters, dryRun: 'true' })
      return (await send<RowsChanged>('POST', path, { query })).body.count
    },
  })
  if (dryRun.error) return <Failure error={dryRun.error} onRetry={() => void dryRun.refetch()} />
  const total = dryRun.data
  const run = async () => {
    setDone(0)
    try {
      const changed = await changeAll(action, total ?? 0, setDone)
      notify(t(name === 'retry' ? 'retriedRows' : 'cancelledRows', { count: changed }))
      onClose()
    } catch (error) {
      notifyFailure(error)
      setDone(undefined)
    } finally {
      await queryClient.invalidateQueries({ queryKey: importsKey })
    }
  }
  const isBusy = done !== undefined
  return (
    <>
      <p role="status">
        {total === undefined ? t('counting') : t(name === 'retry' ? 'willRetry' : 'willCancel', { count: total })}
      </p>
      {isBusy && total !== undefined && (
        <div className={styles.progress}>
          <progress value={done} max={total} aria-label={t('progress')} />
          <span className={styles.soft}>
            {t('progressText', { done: format.number(done), total: format.number(total) })}
          </span>
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>{common('cancel')}</Button>
        <Button
          kind={name === 'retry' ? 'primary' : 'danger'}
          isBusy={isBusy}
          disabled={!total}
          onClick={() => void run()}
        >
          {t(name === 'retry' ? 'retryRows' : 'cancelRows', { count: total ?? 0 })}
        </Button>
      </DialogActions>
    </>
  )
}

/** Repeats the request until nothing remains. Rows that fail again meanwhile are not retried a second time. */
async function changeAll({ name, path, filters }: Action, total: number, onProgress: (done: number) => void) {
  const query = new URLSearchParams(filters)
  const startedAt = new Date().toISOString()
  let done = 0
  for (;;) {
    const { body } = await send<RowsChanged>('POST', path, { query, idempotencyKey: crypto.randomUUID() })
    done += body.count
    onProgress(done)
    if (body.remaining === 0 || body.count === 0 || done >= total) return done
    if (name === 'retry' && !query.has('filter.finishedAt.lt')) query.set('filter.finishedAt.lt', startedAt)
  }
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { useMay } from '../api/permissions.ts'
import { timelineKey } from '../api/timeline.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { reloadLists } from '../views/use-record-window.ts'
import { type Import, importsKey, pathOf } from './import-queries.ts'
import styles from './imports.module.css'

type Removal = Schemas['ImportRemovalResult']

const needed = ['contact:delete:write', 'company:delete:write', 'note:delete:write']

interface RemoveReceivedProps {
  one: Import
  isOpen: boolean
  onClose(): void
}

/** Removes what a bad sender pushed, after showing how much that is. */
export function RemoveReceived({ one, isOpen, onClose }: RemoveReceivedProps) {
  const t = useTranslations('imports')
  const may = useMay()
  return (
    <Dialog
      title={t('removeTitle', { name: one.name })}
      description={t('removeText')}
      isOpen={isOpen}
      onClose={onClose}
    >
      {!needed.every(may) ? (
        <p>{t('removeNotAllowed')}</p>
      ) : one.disabledAt === null ? (
        <p>{t('removeDisableFirst')}</p>
      ) : (
        <Removing one={one} onClose={onClose} />
      )}
    </Dialog>
  )
}

function Removing({ one, onClose }: Omit<RemoveReceivedProps, 'isOpen'>) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const notifyFailure = useNotifyFailure()
  const [done, setDone] = useState<number>()
  const dryRun = useQuery({
    queryKey: ['remove received', one.id],
    gcTime: 0,
    staleTime: Infinity,
    queryFn: () => step(one.id, { dryRun: true }),
  })
  if (dryRun.error) return <Failure error={dryRun.error} onRetry={() => void dryRun.refetch()} />
  const found = dryRun.data
  const { rows = 0, contacts = 0, companies = 0, notes = 0 } = found ?? {}
  const total = rows + contacts + companies + notes
  const run = async () => {
    setDone(0)
    try {
      const remaining = await removeAll(one.id, setDone)
      notify(remaining === 0 ? t('removed', { name: one.name }) : t('removedExcept', { count: remaining }))
      onClose()
    } catch (error) {
      notifyFailure(error)
      setDone(undefined)
      void dryRun.refetch()
    } finally {
      for (const path of ['/v5/contacts', '/v5/companies']) reloadLists(path)
      for (const queryKey of [importsKey, timelineKey, ['record']]) void queryClient.invalidateQueries({ queryKey })
    }
  }
  return (
    <>
      <div role="status">
        {found ? (
          <>
            {found.hasMore && <p>{t('willRemoveMore')}</p>}
            <p>{t('willRemove', { rows, contacts, companies, notes })}</p>
            {found.kept > 0 && <p>{t('willKeep', { count: found.kept })}</p>}
          </>
        ) : (
          <p>{t('countingReceived')}</p>
        )}
      </div>
      {done !== undefined && (
        <div className={styles.progress}>
          <progress {...(!found?.hasMore && { value: done, max: total })} aria-label={t('removing')} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>{common('cancel')}</Button>
        <Button
          kind="danger"
          isBusy={done !== undefined}
          disabled={total === 0 && !found?.hasMore}
          onClick={() => void run()}
        >
          {t('removeAction')}
        </Button>
      </DialogActions>
    </>
  )
}

const sizeOf = ({ rows, contacts, companies, notes }: Removal): number => rows + contacts + companies + notes

async function step(id: string, body: Schemas['ImportRemoval']): Promise<Removal> {
  const options = { body, idempotencyKey: crypto.randomUUID() }
  return (await send<Removal>('POST', `${pathOf(id)}/remove-received`, options)).body
}

/**
 * Repeats the request until nothing is left to remove; returns how many rows remain because a worker is processing
 * them.
 */
async function removeAll(id: string, onProgress: (done: number) => void): Promise<number> {
  let done = 0
  for (let after: string | null = null; ;) {
    const removed: Removal = await step(id, { after })
    done += sizeOf(removed)
    onProgress(done)
    if (removed.remaining === 0 || (removed.next === null && sizeOf(removed) === 0)) return removed.remaining
    after = removed.next
  }
}

import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { useMay } from '../api/permissions.ts'
import { suggestionsKey } from '../suggestions/pending-count.ts'
import { timelineKey } from '../api/timeline.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { reloadLists } from '../views/use-record-window.ts'
import { importsKey } from './import-queries.ts'
import styles from './imports.module.css'

type Decision = 'accept' | 'reject'

/** Asks first, then decides on all waiting opt-outs of an import at once. */
export function DecideAll({ id, waiting }: { id: string; waiting: number }) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const notifyFailure = useNotifyFailure()
  const may = useMay()
  const [decision, setDecision] = useState<Decision>()
  const [isBusy, setBusy] = useState(false)
  const mayReject = may('suggestion:reject:write')
  const mayAccept = may('suggestion:accept:write') && may('contact:update:write')
  const run = async (chosen: Decision) => {
    setBusy(true)
    try {
      const count = await decideAll(id, chosen)
      notify(t(chosen === 'accept' ? 'acceptedOptOuts' : 'rejectedOptOuts', { count }))
      setDecision(undefined)
    } catch (error) {
      notifyFailure(error)
    } finally {
      setBusy(false)
      reloadLists('/v5/contacts')
      for (const queryKey of [importsKey, suggestionsKey, timelineKey, ['record']])
        void queryClient.invalidateQueries({ queryKey })
    }
  }
  return (
    <div className={styles.actions}>
      {mayReject && <Button onClick={() => setDecision('reject')}>{t('rejectOptOuts')}</Button>}
      {mayAccept && <Button onClick={() => setDecision('accept')}>{t('acceptOptOuts')}</Button>}
      <Dialog
        title={t(decision === 'accept' ? 'acceptOptOutsTitle' : 'rejectOptOutsTitle')}
        isOpen={decision !== undefined}
        onClose={() => setDecision(undefined)}
      >
        {decision && (
          <>
            <p>{t(decision === 'accept' ? 'willAcceptOptOuts' : 'willRejectOptOuts', { count: waiting })}</p>
            <DialogActions>
              <Button onClick={() => setDecision(undefined)}>{common('cancel')}</Button>
              <Button kind="primary" isBusy={isBusy} onClick={() => void run(decision)}>
                {t(decision === 'accept' ? 'acceptOptOutsTitle' : 'rejectOptOutsTitle')}
              </Button>
            </DialogActions>
          </>
        )}
      </Dialog>
    </div>
  )
}

/** Repeats the request until nothing remains; returns how many were decided. */
async function decideAll(id: string, decision: Decision): Promise<number> {
  let done = 0
  for (;;) {
    const { body } = await send<Schemas['OptOutsDecided']>('POST', `/v5/imports/${id}/opt-outs/${decision}`, {
      idempotencyKey: crypto.randomUUID(),
    })
    done += body.count
    if (body.remaining === 0 || body.count === 0) return done
  }
}

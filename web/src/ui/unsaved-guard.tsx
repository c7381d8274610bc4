import { useBlocker } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { mayLeave } from '../preferences/drafts.ts'
import { Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

/** Asks for confirmation before the person leaves the page, in the application or the browser, with unsaved input. */
export function UnsavedGuard({ isUnsaved }: { isUnsaved: boolean }) {
  const t = useTranslations('common')
  const blocker = useBlocker({
    shouldBlockFn: () => isUnsaved,
    enableBeforeUnload: () => isUnsaved && !mayLeave(),
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <Dialog title={t('unsavedTitle')} description={t('unsavedText')} isOpen onClose={blocker.reset}>
      <DialogActions>
        <Button onClick={blocker.reset}>{t('stay')}</Button>
        <Button kind="danger" onClick={blocker.proceed}>
          {t('leave')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button, IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { unlessEnded } from './popover.tsx'
import styles from './popup.module.css'

interface DialogProps {
  title: string
  description?: ReactNode
  isOpen: boolean
  onClose(): void
  isLarge?: boolean
  /** The dialog cannot be closed without an answer, and hides the page behind it. */
  isForced?: boolean
  children?: ReactNode
}

/** The first empty input: the person's address is already filled in. */
const emptyIn = (body: HTMLElement | null): HTMLElement | undefined =>
  [...(body?.querySelectorAll<HTMLInputElement>('input') ?? [])].find(({ value }) => value === '')

const fields = 'input:not([readonly], [disabled]), select, textarea'

/** A modal dialog. It traps the focus and returns it; on phones it slides in from the bottom. */
export function Dialog({ title, description, isOpen, onClose, isLarge, isForced, children }: DialogProps) {
  const t = useTranslations('common')
  const body = useRef<HTMLDivElement>(null)
  // Focus the first field, otherwise the first button at the end, but not the close button.
  const firstOf = () =>
    (isForced ? emptyIn(body.current) : undefined) ??
    body.current?.querySelector<HTMLElement>(fields) ??
    body.current?.querySelector<HTMLElement>(`.${styles.dialogActions} button`)
  return (
    <Base.Root open={isOpen} onOpenChange={unlessEnded((open) => !open && onClose())}>
      <Base.Portal>
        <Base.Backdrop className={classes(styles.backdrop, isForced && styles.veil)} />
        <Base.Viewport className={styles.viewport}>
          <Base.Popup
            initialFocus={() => firstOf() ?? true}
            className={classes(styles.dialog, isLarge && styles.large)}
          >
            <div className={styles.dialogHead}>
              <Base.Title className={styles.dialogTitle}>{title}</Base.Title>
              {!isForced && <Base.Close render={<IconButton icon={X} label={t('close')} />} />}
            </div>
            <div ref={body} className={styles.dialogBody}>
              {description !== undefined && (
                <Base.Description className={styles.dialogDescription} render={<div />}>
                  {description}
                </Base.Description>
              )}
              {children}
            </div>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  )
}

/** The buttons at the end of a dialog or form. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.dialogActions}>{children}</div>
)

interface ConfirmProps {
  /** A question with its object: `Delete 3 contacts?` */
  title: string
  description: ReactNode
  /** The action in one or two words: `Delete`. */
  action: string
  isOpen: boolean
  onClose(): void
  /** Runs once, however often the button is pressed; the dialog closes afterwards. */
  onConfirm(): Promise<void>
}

/** Asks for confirmation before something that cannot be undone easily. */
export function ConfirmDialog({ title, description, action, isOpen, onClose, onConfirm }: ConfirmProps) {
  const t = useTranslations('common')
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await onConfirm()
    } finally {
      setBusy(false)
      onClose()
    }
  }
  return (
    <Dialog title={title} description={description} isOpen={isOpen} onClose={onClose}>
      <DialogActions>
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button kind="danger" isBusy={isBusy} onClick={() => void confirm()}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

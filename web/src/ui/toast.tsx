import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { refusalText } from '../messages/refusals.ts'
import { Button, IconButton } from './button.tsx'
import { ErrorText } from './error-text.tsx'
import styles from './toast.module.css'

interface ToastData {
  undo?: () => void
  isUnreachable?: boolean
}

const manager = Toast.createToastManager<ToastData>()

/** Milliseconds: long enough to read the toast and to reach Undo. */
const timeout = 8000

interface NoticeOptions {
  undo?: () => void
  description?: string
  /** Until it is closed. */
  stays?: boolean
}

/** Shows a message, with a button if there is an `undo`. Returns a function that closes it. */
export function notify(title: string, options: NoticeOptions = {}): () => void {
  const { undo, description, stays } = options
  const id = manager.add({
    title,
    timeout: stays ? 0 : timeout,
    ...(description !== undefined && { description }),
    data: undo ? { undo } : {},
  })
  return () => manager.close(id)
}

/** Shows a failure and its reason until the person closes it. */
export function notifyError(title: string, description?: string): void {
  manager.add({
    title,
    type: 'error',
    timeout: 0,
    ...(description !== undefined && { description: <ErrorText text={description} /> }),
  })
}

/** Shows that an action failed, with the service's reason. */
export function useNotifyFailure(): (error: unknown) => void {
  const t = useTranslations('common')
  return (error) => notifyError(t('failed'), error instanceof ApiError ? reasonOf(error) : t('unreachable'))
}

/** The service's message; the details are more specific than the summary. */
const reasonOf = ({ description, details }: ApiError): string =>
  details.length > 0 ? details.map(({ message }) => sentence(refusalText(message))).join(' ') : description

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Shows that something failed because there was no response. */
export function notifyUnreachable(title: string, description?: string): void {
  const data = { isUnreachable: true }
  manager.add({ title, type: 'error', timeout: 0, data, ...(description !== undefined && { description }) })
}

/** Closes all toasts, because another person or organization follows. */
export const closeToasts = (): void => manager.close()

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className={styles.viewport}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function ToastList() {
  const t = useTranslations('common')
  const { toasts } = Toast.useToastManager<ToastData>()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={styles.toast}>
      <Toast.Content className={styles.content}>
        <div className={styles.text}>
          <Toast.Title className={styles.title} />
          {toast.data?.isUnreachable && <p className={styles.description}>{t('unreachableText')}</p>}
          <Toast.Description className={styles.description} />
        </div>
        {toast.data?.undo && <Button onClick={toast.data.undo}>{t('undo')}</Button>}
        <Toast.Close render={<IconButton icon={X} label={t('close')} />} />
      </Toast.Content>
    </Toast.Root>
  ))
}

import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useTranslations } from 'use-intl'
import { IconButton } from './button.tsx'
import styles from './side-panel.module.css'

interface SidePanelProps {
  title: ReactNode
  /** Buttons next to the heading. */
  actions?: ReactNode
  /** Changes when other content is shown; the panel then gets the focus. */
  subject: string
  onClose(): void
  children: ReactNode
}

/** Details next to a list, which stays usable. Escape closes the panel; the caller returns the focus. */
export function SidePanel({ title, actions, subject, onClose, children }: SidePanelProps) {
  const t = useTranslations('common')
  const id = useId()
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.focus({ preventScroll: true }), [subject])
  useEffect(() => {
    const element = panel.current
    const closeOnEscape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      event.preventDefault()
      onClose()
    }
    element?.addEventListener('keydown', closeOnEscape)
    return () => element?.removeEventListener('keydown', closeOnEscape)
  }, [onClose])
  return (
    <section ref={panel} className={styles.panel} aria-labelledby={id} tabIndex={-1}>
      <div className={styles.head}>
        <h2 id={id} className={styles.title}>
          {title}
        </h2>
        {actions}
        <IconButton icon={X} label={t('close')} shortcut="Escape" onClick={onClose} />
      </div>
      <div className={styles.body}>{children}</div>
    </section>
  )
}

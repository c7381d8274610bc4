import { type ReactNode, useEffect, useRef } from 'react'
import styles from './access.module.css'

export interface CardProps {
  title: string
  lead?: ReactNode
  children?: ReactNode
  /** Other ways to log in, below the card. */
  footer?: ReactNode
}

/** A page outside the application with a single question. Focuses its first field, or else its heading. */
export function Card({ title, lead, children, footer }: CardProps) {
  const card = useRef<HTMLDivElement>(null)
  useEffect(() => {
    document.title = `${title} · Rapport`
    const field = card.current?.querySelector<HTMLElement>('input:not([readonly]), [type=submit]')
    const target = field ?? card.current?.querySelector('h1')
    target?.focus()
  }, [title])
  useEffect(() => {
    // The browser may store the page for its Back button, so clear what was typed.
    const clear = () => card.current?.querySelector('form')?.reset()
    addEventListener('pagehide', clear)
    return () => removeEventListener('pagehide', clear)
  }, [])
  return (
    <main className={styles.page}>
      <div ref={card} className={styles.card}>
        <img src="/favicon.svg" alt="Rapport" width={36} height={36} className={styles.mark} />
        <div className={styles.head}>
          <h1 tabIndex={-1}>{title}</h1>
          {lead !== undefined && <p>{lead}</p>}
        </div>
        {children}
      </div>
      {footer !== undefined && <div className={styles.footer}>{footer}</div>}
    </main>
  )
}

/** Between the password and the other ways to log in. */
export const Divider = ({ children }: { children: ReactNode }) => <div className={styles.divider}>{children}</div>

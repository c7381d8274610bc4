import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import styles from './imports.module.css'

/** A link to the row of an accepted push on its import's page. */
export const RowLink = ({ id, children }: { id: string; children: ReactNode }) => (
  <Link to="." search={{ row: id }} className={styles.cellLink} preload={false} resetScroll={false}>
    {children}
  </Link>
)

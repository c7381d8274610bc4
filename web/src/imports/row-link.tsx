import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import styles from './imports.module.css'

/** Opens the row of an accepted push on the page of its import. */
export const RowLink = ({ id, children }: { id: string; children: ReactNode }) => (
  <Link to="." search={{ row: id }} className={styles.cellLink} preload={false} resetScroll={false}>
    {children}
  </Link>
)

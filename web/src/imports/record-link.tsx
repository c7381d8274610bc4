import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import styles from './imports.module.css'

/** A link to the contact or company with this id. */
export const RecordLink = ({ id, children }: { id: string; children: ReactNode }) => (
  <Link
    to="/$resource/$recordId"
    params={{ resource: id.startsWith('con_') ? 'contacts' : 'companies', recordId: id }}
    className={styles.cellLink}
  >
    {children}
  </Link>
)

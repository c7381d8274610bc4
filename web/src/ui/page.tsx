import { type ReactNode, useEffect, useId } from 'react'
import { classes } from './classes.ts'
import styles from './page.module.css'

interface PageBarProps {
  title: string
  /** Shown next to the heading, such as a count. */
  note?: ReactNode
  /** Shown before the heading: a back link. */
  leading?: ReactNode
  /** Shown after the heading; on phones below it. */
  tabs?: ReactNode
  children?: ReactNode
}

/** The bar at the top of a page: heading, note and actions. Also sets the document title. */
export function PageBar({ title, note, leading, tabs, children }: PageBarProps) {
  useEffect(() => {
    document.title = `${title} · Rapport`
  }, [title])
  return (
    <header className={classes(styles.bar, tabs !== undefined && styles.withTabs)}>
      {leading}
      <div className={styles.title}>
        <h1 className="truncate">{title}</h1>
        {note !== undefined && (
          <span className={styles.note} role="status">
            {note}
          </span>
        )}
      </div>
      {tabs}
      {children !== undefined && <div className={styles.actions}>{children}</div>}
    </header>
  )
}

/** The scrolling part of a page. `isNarrow` is for text and forms. */
export function PageContent({ isNarrow, children }: { isNarrow?: boolean; children: ReactNode }) {
  return <div className={classes(styles.content, styles.stack, isNarrow && styles.narrow)}>{children}</div>
}

interface PanelProps {
  title: string
  description?: ReactNode
  /** Buttons next to the heading. */
  actions?: ReactNode
  children?: ReactNode
}

/** A framed part of a page with a heading. */
export function Panel({ title, description, actions, children }: PanelProps) {
  const id = useId()
  return (
    <section className={styles.panel} aria-labelledby={id}>
      <div className={styles.panelHead}>
        <h2 id={id}>{title}</h2>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {description !== undefined && <p className={styles.description}>{description}</p>}
      {children}
    </section>
  )
}

/** Rows of a settings page: a name, a line of text, and actions. */
export function List({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={styles.list} aria-label={label}>
      {children}
    </ul>
  )
}

interface ListRowProps {
  leading?: ReactNode
  title: ReactNode
  text?: ReactNode
  /** Buttons at the end of the row. */
  children?: ReactNode
}

export function ListRow({ leading, title, text, children }: ListRowProps) {
  return (
    <li className={styles.listRow}>
      {leading}
      <div className={styles.listText}>
        <div>{title}</div>
        {text !== undefined && <div className={styles.soft}>{text}</div>}
      </div>
      {children}
    </li>
  )
}

export interface TableColumn<Row> {
  title: string
  isNumber?: boolean
  show(row: Row): ReactNode
}

interface TableProps<Row> {
  /** Its name for assistive technology. */
  label: string
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
}

/** A plain table for a few rows; long lists use the data grid. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <div className={styles.tableBox} role="region" aria-label={label} tabIndex={0}>
      <table className={styles.table} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" className={classes(isNumber && styles.number)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, isNumber, show }) => (
                <td key={title} className={classes(isNumber && styles.number)}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

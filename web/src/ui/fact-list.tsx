import type { ReactNode } from 'react'
import styles from './fact-list.module.css'

/** A name and its value. */
type Fact = readonly [name: string, value: ReactNode]

/** Names with their values, below each other on narrow pages. Leaves out what is not a fact. */
export function FactList({ facts }: { facts: readonly (Fact | false | undefined)[] }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter((fact) => fact !== false && fact !== undefined)
        .map(([name, value]) => (
          <div key={name} className={styles.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

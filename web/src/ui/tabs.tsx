import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import styles from './tabs.module.css'

interface TabsProps {
  /** Their name for assistive technology. */
  label: string
  tabs: readonly { name: string; title: string; content: ReactNode }[]
}

/** Several contents of which one is shown; the arrow keys change it. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <Base.Root defaultValue={tabs[0]?.name}>
      <Base.List activateOnFocus aria-label={label} className={styles.list}>
        {tabs.map(({ name, title }) => (
          <Base.Tab key={name} value={name} className={styles.tab}>
            {title}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(({ name, content }) => (
        <Base.Panel key={name} value={name} className={styles.panel}>
          {content}
        </Base.Panel>
      ))}
    </Base.Root>
  )
}

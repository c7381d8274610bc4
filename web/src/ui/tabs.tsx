import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import styles from './tabs.module.css'

interface TabsProps {
  /** Their name for assistive technology. */
  label: string
  tabs: readonly { name: string; title: string; content: ReactNode }[]
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }

/** Several contents of which one is shown; the arrow keys, Home and End change it. */
export function Tabs({ label, tabs }: TabsProps) {
  const id = useId()
  const [shown, setShown] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const show = (index: number) => {
    setShown(index)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[index]?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key]
    const next = event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : undefined
    if (step === undefined && next === undefined) return
    event.preventDefault()
    show(next ?? (shown + (step ?? 0) + tabs.length) % tabs.length)
  }
  return (
    <div>
      <div ref={list} role="tablist" aria-label={label} className={styles.list}>
        {tabs.map(({ name, title }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-controls={`${id}-panel`}
            aria-selected={index === shown}
            tabIndex={index === shown ? 0 : -1}
            className={styles.tab}
            onClick={() => setShown(index)}
            onKeyDown={onKeyDown}
          >
            {title}
          </button>
        ))}
      </div>
      <div
        key={shown}
        id={`${id}-panel`}
        role="tabpanel"
        aria-labelledby={`${id}-tab-${shown}`}
        className={styles.panel}
      >
        {tabs[shown]?.content}
      </div>
    </div>
  )
}

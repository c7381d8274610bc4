import { type ReactNode, useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from './button.tsx'
import { Panel } from './page.tsx'

interface ChartPanelProps {
  title: string
  description?: ReactNode
  /** The same numbers as a table. */
  table: ReactNode
  children: ReactNode
}

/** A chart with a heading, which can be switched to a table. */
export function ChartPanel({ title, description, table, children }: ChartPanelProps) {
  const t = useTranslations('charts')
  const [isTable, setTable] = useState(false)
  const toggle = (
    <Button kind="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
      {t('table')}
    </Button>
  )
  return (
    <Panel title={title} {...(description !== undefined && { description })} actions={toggle}>
      {isTable ? table : children}
    </Panel>
  )
}

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { LaterMessages } from '../messages/later-messages.tsx'
import { Segments } from '../ui/chip.tsx'
import { PageBar, PageContent } from '../ui/page.tsx'
import { Checklist } from './checklist.tsx'
import { ContactCharts } from './contact-charts.tsx'
import styles from './home.module.css'
import { ImportChart } from './import-chart.tsx'
import { MyDay } from './my-day-panel.tsx'
import { periodOf, periods } from './statistics.ts'

/** Today's tasks and recent activity, preceded by the first steps until they are done. */
export function Home() {
  return (
    <LaterMessages>
      <Content />
    </LaterMessages>
  )
}

function Content() {
  const t = useTranslations('home')
  const navigate = useNavigate()
  const search: Record<string, unknown> = useSearch({ strict: false })
  const period = periodOf(search.days)
  const mayListContacts = useResource('contacts')?.permissions.list === true
  const mayListTasks = useResource('tasks')?.permissions.list === true
  const mayListImports = useResource('imports')?.permissions.list === true
  return (
    <>
      <PageBar title={t('title')}>
        <Segments
          label={t('period')}
          options={periods.map((days) => ({ value: days, label: t('days', { count: days }) }))}
          value={period}
          onChange={(days) =>
            void navigate({ to: '/', search: { days: String(days) }, replace: true, resetScroll: false })
          }
        />
      </PageBar>
      <PageContent>
        <Checklist>
          {mayListTasks && <MyDay />}
          <div className={styles.charts}>
            {mayListContacts && <ContactCharts period={period} />}
            {mayListImports && <ImportChart period={period} />}
          </div>
        </Checklist>
      </PageContent>
    </>
  )
}

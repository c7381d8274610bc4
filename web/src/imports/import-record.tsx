import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { LaterMessages } from '../messages/later-messages.tsx'
import { NotFound } from '../ui/states.tsx'
import { classes } from '../ui/classes.ts'
import { CopyRequest } from '../ui/copy-request.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { PageBar } from '../ui/page.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { ImportActions } from './import-actions.tsx'
import { importQuery, type RotatedImport, rowsPathOf } from './import-queries.ts'
import { Enabled } from './imports.tsx'
import styles from './imports.module.css'
import { forgetUrl, keptUrl } from './one-time-url.ts'
import { OptOutAlarm } from './opt-out-alarm.tsx'
import { PushedBytes } from './pushed-bytes.tsx'
import { RefusalAlarm } from './refusal-alarm.tsx'
import { RefusedList } from './refused-list.tsx'
import { RefusedPanel } from './refused-panel.tsx'
import { RowFilters } from './row-filters.tsx'
import { RowList } from './row-list.tsx'
import { RowPanel } from './row-panel.tsx'
import { refusedPathOf } from './refused-queries.ts'
import { filtersOf } from './row-states.ts'
import { TriggerUrl } from './trigger-url.tsx'

/** An import with its rows as they arrive; the open row is in the URL. */
export function ImportRecord() {
  const { importId = '' } = useParams({ strict: false })
  return (
    <LaterMessages>
      <ImportPage key={importId} importId={importId} />
    </LaterMessages>
  )
}

function ImportPage({ importId }: { importId: string }) {
  const navigate = useNavigate()
  const search: Record<string, unknown> = useSearch({ strict: false })
  const { data, error, refetch } = useQuery(importQuery(importId))
  const secret = useTriggerUrl(importId)
  const rowId = typeof search.row === 'string' ? search.row : undefined
  const openRow = useCallback(
    (row: string | undefined) => {
      const { row: previous, ...others } = search
      void navigate({ to: '.', search: row === undefined ? others : { ...others, row }, resetScroll: false })
      // Return the focus to the row from which the panel was opened.
      if (row === undefined) document.getElementById(String(previous))?.focus({ preventScroll: true })
    },
    [navigate, search],
  )
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return null
  const one = data.body
  const filters = filtersOf(search)
  const showsRefused = search.show === 'refused'
  const close = () => openRow(undefined)
  return (
    <>
      <PageBar title={one.name}>
        <Enabled isEnabled={one.disabledAt === null} />
        <ImportActions one={one} onRotated={secret.showRotated} />
      </PageBar>
      <div className={classes(styles.page, rowId !== undefined && styles.withPanel)}>
        <div className={styles.main}>
          {secret.url !== undefined && <TriggerUrl url={secret.url} text={secret.text} onDone={secret.forget} />}
          <RefusalAlarm one={one} />
          <OptOutAlarm one={one} />
          <PushedBytes one={one} />
          <RowFilters one={one} search={search}>
            {!showsRefused && <BulkActions one={one} filters={filters} />}
            <CopyRequest
              path={showsRefused ? refusedPathOf(importId) : rowsPathOf(importId)}
              query={showsRefused ? queryOf(filters) : filters}
            />
          </RowFilters>
          {showsRefused ? (
            <RefusedList importId={importId} query={filters.query ?? ''} openId={rowId} onOpen={openRow} />
          ) : (
            <RowList one={one} filters={filters} openId={rowId} onOpen={openRow} />
          )}
        </div>
        {rowId?.startsWith('ref_') && <RefusedPanel importId={importId} id={rowId} onClose={close} />}
        {rowId?.startsWith('row_') && <RowPanel importId={importId} rowId={rowId} onClose={close} />}
      </div>
    </>
  )
}

/** Refused pushes have no other filters. */
const queryOf = ({ query }: Readonly<Record<string, string>>): Record<string, string> =>
  query === undefined ? {} : { query }

/** The URL of an import that was just created or rotated. Only this page has it, until the person leaves. */
function useTriggerUrl(importId: string) {
  const t = useTranslations('imports')
  const format = useFormatter()
  const [url, setUrl] = useState(() => keptUrl(importId))
  const [previousEnd, setPreviousEnd] = useState<string | null>()
  useEffect(() => forgetUrl, [])
  const time = (end: string) => format.dateTime(new Date(end), { dateStyle: 'medium', timeStyle: 'short' })
  const ends = previousEnd && t('previousEnds', { time: time(previousEnd) })
  return {
    url,
    text: [t('urlText'), ends, previousEnd === null && t('previousEnded')].filter(Boolean).join(' '),
    showRotated({ triggerUrl, previousUrlExpiresAt }: RotatedImport) {
      setUrl(triggerUrl)
      setPreviousEnd(previousUrlExpiresAt)
    },
    forget() {
      setUrl(undefined)
    },
  }
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useMessages, useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { sendEdit } from '../api/edit.ts'
import { useResource } from '../api/schema.ts'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { SidePanel } from '../ui/side-panel.tsx'
import { Tag } from '../ui/tag.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { changed, type Finding, type RowDetails, rowQuery, rowsPathOf } from './import-queries.ts'
import styles from './imports.module.css'
import { hasDraft } from './drafts.ts'
import type { Payload } from './payload-fields.ts'
import { PayloadForm } from './payload-form.tsx'
import { RecordLink } from './record-link.tsx'
import { RowChanges } from './row-changes.tsx'
import { codeName } from './row-list.tsx'
import { useTimeOf } from './row-table.tsx'
import { cancellable, isCorrectable, retryable, rowTints } from './row-states.ts'

interface RowPanelProps {
  importId: string
  rowId: string
  onClose(): void
}

/** A row: the pushed payload, its outcome, and the possible actions. */
export function RowPanel({ importId, rowId, onClose }: RowPanelProps) {
  const t = useTranslations('imports')
  const { data, error, refetch } = useQuery(rowQuery(importId, rowId))
  const row = data?.body
  const tag = row && (
    <Tag tint={rowTints[row.status]} hasDot>
      {t(`statuses.${row.status}`)}
    </Tag>
  )
  return (
    <SidePanel
      subject={rowId}
      title={
        <>
          {t('row')} {tag}
        </>
      }
      onClose={onClose}
    >
      {error && !row && <Failure error={error} onRetry={() => void refetch()} />}
      {row && <RowContent key={rowId} row={row} />}
    </SidePanel>
  )
}

function RowContent({ row }: { row: RowDetails }) {
  const t = useTranslations('imports')
  const [isEditing, setEditing] = useState(() => hasDraft(row.id))
  const [seen, setSeen] = useState(row)
  const edit = () => {
    setSeen(row)
    setEditing(true)
  }
  const mayEdit = useResource('rows')?.permissions.update === true && isCorrectable(row)
  const save = async (payload: unknown) => {
    const path = `${rowsPathOf(row.importId)}/${row.id}`
    await changed(await sendEdit({ path, resource: 'rows', seen, values: { payload } }))
    notify(t('retried'))
  }
  const hasParameters = Object.keys(row.parameters).length > 0
  return (
    <>
      <RowActions row={row} />
      <Findings title={t('errors')} findings={row.errors} isError />
      <Findings title={t('warnings')} findings={row.warnings} />
      <div className={styles.part}>
        <div className={styles.partHead}>
          <h3 id="row-payload">{t('payload')}</h3>
          {mayEdit && !isEditing && <Button onClick={edit}>{t('editAndRetry')}</Button>}
        </div>
        {isEditing && mayEdit ? (
          <PayloadForm
            subject={row.id}
            payload={row.payload as Payload}
            sent={JSON.stringify(row.payload, undefined, 2)}
            findings={[...row.errors, ...row.warnings]}
            submitLabel={t('saveAndRetry')}
            onSubmit={save}
            onClose={() => setEditing(false)}
          />
        ) : (
          <pre className={styles.payload} role="region" aria-labelledby="row-payload" tabIndex={0}>
            {JSON.stringify(row.payload, undefined, 2)}
          </pre>
        )}
        {hasParameters && (
          <>
            <h3>{t('parameters')}</h3>
            <pre className={styles.payload}>{JSON.stringify(row.parameters, undefined, 2)}</pre>
          </>
        )}
      </div>
      <RowChanges changes={row.changes} />
      <RowFacts row={row} />
    </>
  )
}

function RowActions({ row }: { row: RowDetails }) {
  const t = useTranslations('imports')
  const notifyFailure = useNotifyFailure()
  const mayChange = useResource('rows')?.permissions.update === true
  const [busy, setBusy] = useState<'retry' | 'cancel'>()
  const path = rowsPathOf(row.importId)
  const run = async (action: 'retry' | 'cancel') => {
    setBusy(action)
    try {
      const query = new URLSearchParams({ 'filter.id.equals': row.id })
      const { count } = await changed(
        action === 'retry'
          ? await send<{ count?: number }>('POST', `${path}/${row.id}/retry`)
          : await send<{ count?: number }>('POST', `${path}/cancel`, { query }),
      )
      // Zero rows changed: a worker has claimed the row meanwhile.
      notify(t(action === 'retry' ? 'retried' : count === 0 ? 'tooLate' : 'cancelled'))
    } catch (error) {
      notifyFailure(error)
    } finally {
      setBusy(undefined)
    }
  }
  const mayRetry = mayChange && retryable.includes(row.status)
  const mayCancel = mayChange && cancellable.includes(row.status)
  return (
    <>
      <p className={styles.soft}>{t(`results.${row.status}`, { warnings: row.warnings.length })}</p>
      {(mayRetry || mayCancel) && (
        <div className={styles.actions}>
          {mayRetry && (
            <Button isBusy={busy !== undefined} onClick={() => void run('retry')}>
              {t('retry')}
            </Button>
          )}
          {mayCancel && (
            <Button isBusy={busy !== undefined} onClick={() => void run('cancel')}>
              {t('cancel')}
            </Button>
          )}
        </div>
      )}
    </>
  )
}

interface FindingsProps {
  title: string
  findings: readonly Finding[]
  isError?: boolean
}

function Findings({ title, findings, isError }: FindingsProps) {
  const hints = useMessages().imports.hints as Readonly<Record<string, string>>
  const t = useTranslations('imports')
  if (findings.length === 0) return null
  return (
    <section className={styles.part}>
      <h3>{title}</h3>
      <ul className={styles.findings}>
        {findings.map(({ code, path, message, hint }) => (
          <li key={`${code} ${path} ${message}`} className={styles.finding} data-error={isError}>
            <strong>{codeName(t, code)}</strong>
            {path !== '' && <code>{path}</code>}
            <Message text={message} />
            <span className={styles.soft}>{hints[code] ?? hint}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function RowFacts({ row }: { row: RowDetails }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  return (
    <dl className={styles.facts}>
      <dt>{t('received')}</dt>
      <dd>{timeOf(row.createdAt)}</dd>
      {row.finishedAt !== null && (
        <>
          <dt>{t('finished')}</dt>
          <dd>{timeOf(row.finishedAt)}</dd>
        </>
      )}
      {row.status === 'RETRYING' && row.runAt !== null && (
        <>
          <dt>{t('nextAttempt')}</dt>
          <dd>{timeOf(row.runAt)}</dd>
        </>
      )}
      {row.attempts > 0 && (
        <>
          <dt>{t('attempts')}</dt>
          <dd>{row.attempts}</dd>
        </>
      )}
      {row.contactId !== null && (
        <>
          <dt>{t('contact')}</dt>
          <dd>
            <RecordLink id={row.contactId}>{t('showContact')}</RecordLink>
          </dd>
        </>
      )}
      {row.companyId !== null && (
        <>
          <dt>{t('company')}</dt>
          <dd>
            <RecordLink id={row.companyId}>{t('showCompany')}</RecordLink>
          </dd>
        </>
      )}
      <dt>{t('id')}</dt>
      <dd>
        <code>{row.id}</code>
      </dd>
    </dl>
  )
}

/** The message of a finding; the records that it names are links. */
function Message({ text }: { text: string }) {
  const parts = text.split(/((?:con|com)_[0-9a-f]{32})/)
  return (
    <span>
      {parts.map((part, index) =>
        // The pattern captures ids, so every second part is one.
        index % 2 === 0 ? (
          part
        ) : (
          <RecordLink key={part} id={part}>
            {part}
          </RecordLink>
        ),
      )}
    </span>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { useResource } from '../api/schema.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { SidePanel } from '../ui/side-panel.tsx'
import { Tag } from '../ui/tag.tsx'
import { notify } from '../ui/toast.tsx'
import { hasDraft } from './drafts.ts'
import { change, changed } from './import-queries.ts'
import styles from './imports.module.css'
import { payloadOf } from './payload-fields.ts'
import { PayloadForm } from './payload-form.tsx'
import { refusedPathOf, type RefusedPushDetails, refusedPushQuery } from './refused-queries.ts'
import { RowLink } from './row-link.tsx'
import { useTimeOf } from './row-table.tsx'

interface RefusedPanelProps {
  importId: string
  id: string
  onClose(): void
}

/** A refused push: its body, the reason, and a form to accept it. */
export function RefusedPanel({ importId, id, onClose }: RefusedPanelProps) {
  const t = useTranslations('imports')
  const { data: push, error, refetch } = useQuery(refusedPushQuery(importId, id))
  const isAccepted = push !== undefined && push.rowId !== null
  const tag = push && (
    <Tag tint={isAccepted ? 'green' : 'red'} hasDot>
      {t(isAccepted ? 'accepted' : 'refused')}
    </Tag>
  )
  return (
    <SidePanel
      subject={id}
      title={
        <>
          {t('refusedPush')} {tag}
        </>
      }
      onClose={onClose}
    >
      {error && !push && <Failure error={error} onRetry={() => void refetch()} />}
      {push && <RefusedContent key={id} push={push} onClose={onClose} />}
    </SidePanel>
  )
}

function RefusedContent({ push, onClose }: { push: RefusedPushDetails; onClose(): void }) {
  const t = useTranslations('imports')
  const permissions = useResource('refused-pushes')?.permissions
  const rows = useResource('rows')
  const mayAccept = push.rowId === null && rows?.permissions.update === true
  const [isEditing, setEditing] = useState(() => hasDraft(push.id))
  const [isDeleting, setDeleting] = useState(false)
  const body = typeof push.body === 'string' ? push.body : ''
  const path = `${refusedPathOf(push.importId)}/${push.id}`
  const accept = async (payload: unknown) => {
    await change(`${path}/accept`, { payload })
    notify(t('acceptedNow'))
  }
  const remove = async () => {
    onClose()
    await changed(await send('DELETE', path))
    notify(t('refusedDeleted'))
  }
  return (
    <>
      <p className={styles.soft}>{t(push.rowId === null ? 'refusedText' : 'acceptedText')}</p>
      {push.rowId !== null && <RowLink id={push.rowId}>{t('showRow')}</RowLink>}
      <section className={styles.part}>
        <h3>{t('reason')}</h3>
        <ul className={styles.findings}>
          {(push.details.length > 0 ? push.details : [{ field: '', message: push.message }]).map(
            ({ field, message }) => (
              <li key={`${field} ${message}`} className={styles.finding} data-error>
                {field !== '' && <code>{field}</code>}
                <span>{message}</span>
              </li>
            ),
          )}
        </ul>
      </section>
      <div className={styles.actions}>
        {mayAccept && !isEditing && (
          <Button kind="primary" onClick={() => setEditing(true)}>
            {t('correctAndAccept')}
          </Button>
        )}
        {permissions?.delete === true && <Button onClick={() => setDeleting(true)}>{t('deleteRefused')}</Button>}
      </div>
      {mayAccept && isEditing && (
        <PayloadForm
          subject={push.id}
          payload={payloadOf(body)}
          sent={body}
          findings={push.details.map(({ field, message }) => ({ path: field, message }))}
          submitLabel={t('accept')}
          onSubmit={accept}
          onClose={() => setEditing(false)}
        />
      )}
      <div className={styles.part}>
        <h3 id="refused-body">{t('body')}</h3>
        <pre className={styles.payload} role="region" aria-labelledby="refused-body" tabIndex={0}>
          {push.body === null ? t('bodyLost') : indented(body)}
        </pre>
        {push.isTruncated && <p className={styles.soft}>{t('truncated')}</p>}
      </div>
      <RefusedFacts push={push} />
      <ConfirmDialog
        title={t('deleteRefusedTitle')}
        description={t('deleteRefusedText')}
        action={t('deleteRefused')}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        onConfirm={remove}
      />
    </>
  )
}

/** Pretty-prints JSON; leaves everything else as sent. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2)
  } catch {
    return body
  }
}

function RefusedFacts({ push }: { push: RefusedPushDetails }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  const facts = [
    ['received', timeOf(push.createdAt)],
    ['sender', push.sender],
    ['networkAddress', push.address === push.sender ? null : push.address],
    ['userAgent', push.userAgent],
    ['contentType', push.contentType],
    ['code', push.code],
    ['id', push.id],
  ] as const
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) =>
        value === null ? null : (
          <Fragment key={name}>
            <dt>{t(name)}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
      )}
    </dl>
  )
}

import { BadgeCheck, Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { usePostOnce } from '../api/post-once.ts'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ListRow } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { DialogButton } from './dialog-buttons.tsx'
import { ListPanel } from './list-panel.tsx'
import { usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { Domain } from './records.ts'
import styles from './settings.module.css'

const path = '/v5/domains'

/** Email domains whose ownership the organization has proved. */
export function Domains() {
  const t = useTranslations('settings.domains')
  const may = useMay()
  const pages = usePages<Domain>(path)
  return (
    <ListPanel
      title={t('title')}
      description={t('text')}
      path={path}
      pages={pages}
      empty={t('empty')}
      actions={
        may('domain:create:write') && (
          <DialogButton icon={Plus} label={t('add')} title={t('addTitle')}>
            {(close) => <DomainForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      {(domain) => <DomainRow domain={domain} />}
    </ListPanel>
  )
}

function DomainForm({ onClose }: { onClose(): void }) {
  const t = useTranslations('settings.domains')
  const post = usePostOnce()
  return (
    <Form
      draft="domain"
      submitLabel={t('add')}
      onCancel={onClose}
      onSubmit={async ({ domain = '' }) => {
        await change(['domains'], () => post('/v5/domains', { domain }))
        onClose()
      }}
    >
      {(errorOf) => (
        <TextField
          name="domain"
          label={t('domain')}
          hint={t('domainHint')}
          error={errorOf('domain')}
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
    </Form>
  )
}

function DomainRow({ domain: { id, domain, recordName, recordValue, verifiedAt } }: { domain: Domain }) {
  const t = useTranslations('settings.domains')
  const act = useAct()
  const common = useTranslations('common')
  const may = useMay()
  const [isRemoving, setRemoving] = useState(false)
  const [isVerifying, setVerifying] = useState(false)
  const options = { refresh: ['domains'] }
  const verify = async () => {
    setVerifying(true)
    await act(() => send('POST', `/v5/domains/${id}/verify`), { ...options, done: t('verifiedNow', { domain }) })
    setVerifying(false)
  }
  const remove = () => act(() => send('DELETE', `/v5/domains/${id}`), { ...options, done: t('removed', { domain }) })
  const removeButton = may('domain:delete:write') && (
    <Button kind="quiet" aria-label={t('removeNamed', { domain })} onClick={() => setRemoving(true)}>
      {common('remove')}
    </Button>
  )
  return (
    <ListRow
      title={
        <div className={styles.stack}>
          <span className={styles.name}>
            <span className="truncate">{domain}</span>
            <Tag tint={verifiedAt === null ? 'orange' : 'green'} hasDot>
              {t(verifiedAt === null ? 'unverified' : 'verified')}
            </Tag>
          </span>
          {verifiedAt === null && (
            <>
              <p className={styles.soft}>{t('recordText')}</p>
              <CopyField label={t('recordName')} value={recordName} />
              <CopyField label={t('recordValue')} value={recordValue} />
              <div className={styles.buttons}>
                {may('domain:verify:write') && (
                  <Button icon={BadgeCheck} isBusy={isVerifying} onClick={() => void verify()}>
                    {t('verify')}
                  </Button>
                )}
                {removeButton}
              </div>
            </>
          )}
        </div>
      }
    >
      {verifiedAt !== null && removeButton}
      <ConfirmDialog
        title={t('removeConfirm', { domain })}
        description={t('removeText')}
        action={common('remove')}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={remove}
      />
    </ListRow>
  )
}

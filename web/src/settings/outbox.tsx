import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ListRow, PageContent } from '../ui/page.tsx'
import { Tag, type Tint } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import styles from './outbox.module.css'
import { ListPanel } from './list-panel.tsx'
import { usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { Mail, MailContent } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import settings from './settings.module.css'

const tints: Record<Mail['status'], Tint> = {
  queued: 'blue',
  sent: 'green',
  kept: 'orange',
  failed: 'red',
  dropped: 'gray',
}

const path = '/v5/mails'
const query = { 'filter.status.in': 'queued,kept,failed' }

/** Mails that were not sent, and why. Without a mail server, owners read them here. */
export function Outbox() {
  const t = useTranslations('settings.outbox')
  const pages = usePages<Mail>(path, query)
  const [open, setOpen] = useState<{ mail: Mail; content: MailContent }>()
  return (
    <>
      <SectionBar title={t('title')} />
      <PageContent isNarrow>
        <ListPanel
          title={t('mails')}
          description={t('text')}
          path={path}
          query={query}
          pages={pages}
          empty={t('empty')}
        >
          {(mail) => <MailRow mail={mail} onRead={(content) => setOpen({ mail, content })} />}
        </ListPanel>
      </PageContent>
      <Dialog
        title={open?.mail.subject ?? t('mail')}
        description={open?.mail.recipient}
        isOpen={open !== undefined}
        onClose={() => setOpen(undefined)}
        isLarge
      >
        {open && <Content content={open.content} />}
      </Dialog>
    </>
  )
}

function MailRow({ mail, onRead }: { mail: Mail; onRead(content: MailContent): void }) {
  const t = useTranslations('settings.outbox')
  const act = useAct()
  const may = useMay()
  const { id, subject, recipient, status, lastError, createdAt } = mail
  // Reading is logged in the audit log, because the links of a mail can log in as its recipient.
  const read = () =>
    void act(async () => onRead((await send<MailContent>('GET', `/v5/mails/${id}/content`)).body), {
      refresh: ['audit-log'],
    })
  return (
    <ListRow
      title={
        <span className={settings.name}>
          <span className="truncate">{subject ?? t('mail')}</span>
          <Tag tint={tints[status]} hasDot>
            {t(`status.${status}`)}
          </Tag>
        </span>
      }
      text={
        <>
          <span className={settings.facts}>
            <span className="truncate">{recipient}</span>
            <Time value={createdAt} />
          </span>
          {lastError !== null && <p>{lastError}</p>}
        </>
      }
    >
      {status === 'kept' && may('mail-content:get:read') && (
        <Button onClick={read} aria-label={t('readNamed', { recipient })}>
          {t('read')}
        </Button>
      )}
    </ListRow>
  )
}

function Content({ content: { text, links } }: { content: MailContent }) {
  const t = useTranslations('settings.outbox')
  return (
    <>
      {links.map((link) => (
        <CopyField key={link} label={t('link')} value={link} />
      ))}
      <p className={styles.text}>{text}</p>
    </>
  )
}

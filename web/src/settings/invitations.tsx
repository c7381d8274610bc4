import { Ellipsis, Link2, MailPlus, RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../ui/dialog.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ListRow, PageContent } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { isPast } from './dates.ts'
import { InvitationForm } from './invitation-form.tsx'
import { InvitationLink } from './invitation-link.tsx'
import { ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { usePages } from './paged.tsx'
import type { Invitation } from './records.ts'
import { useRoleName } from './role-menu.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

const path = '/v5/invitations'

/** Invited people who have not joined yet. */
export function Invitations() {
  const t = useTranslations('settings.invitations')
  const common = useTranslations('common')
  const goTo = useGoTo()
  const isInviting = useSectionSearch().new === 'true'
  const [invited, setInvited] = useState<string>()
  const pages = usePages<Invitation>(path)
  const setInviting = (isOpen: boolean) => goTo('invitations', isOpen ? { new: 'true' } : {})
  const invite = (
    <Button kind="primary" icon={MailPlus} onClick={() => setInviting(true)}>
      {t('invite')}
    </Button>
  )
  return (
    <>
      <SectionBar title={t('title')}>{invite}</SectionBar>
      <PageContent isNarrow>
        <ListPanel title={t('open')} description={t('text')} path={path} pages={pages} empty={t('empty')}>
          {(invitation) => <InvitationRow invitation={invitation} onSent={setInvited} />}
        </ListPanel>
      </PageContent>
      <Dialog title={t('formTitle')} isOpen={isInviting} onClose={() => setInviting(false)}>
        <InvitationForm
          onCancel={() => setInviting(false)}
          onDone={(email) => {
            setInviting(false)
            setInvited(email)
          }}
        />
      </Dialog>
      <Dialog
        title={t('sentTitle', { email: invited ?? '' })}
        isOpen={invited !== undefined}
        onClose={() => setInvited(undefined)}
      >
        {invited !== undefined && <InvitationLink email={invited} />}
        <DialogActions>
          <Button onClick={() => setInvited(undefined)}>{common('done')}</Button>
        </DialogActions>
      </Dialog>
    </>
  )
}

interface InvitationRowProps {
  invitation: Invitation
  /** Shows how the invitation reaches the person. */
  onSent(email: string): void
}

function InvitationRow({ invitation, onSent }: InvitationRowProps) {
  const t = useTranslations('settings.invitations')
  const act = useAct()
  const roleName = useRoleName()
  const [isRevoking, setRevoking] = useState(false)
  const { id, email, expiresAt, sentAt } = invitation
  const hasExpired = isPast(expiresAt)
  const options = { refresh: ['invitations'] }
  const resend = () =>
    void act(async () => {
      await send('POST', `${path}/${id}/resend`)
      onSent(email)
    }, options)
  const revoke = () => act(() => send('DELETE', `${path}/${id}`), { ...options, done: t('revoked', { email }) })
  return (
    <ListRow
      title={
        <span className={styles.name}>
          <span className="truncate">{email}</span>
          {hasExpired && <Tag tint="orange">{t('expired')}</Tag>}
        </span>
      }
      text={
        <span className={styles.facts}>
          <span>{roleName(invitation)}</span>
          <span>
            {t('sent')} <Time value={sentAt} />
          </span>
          <span>
            {t(hasExpired ? 'expiredAt' : 'expires')} <Time value={expiresAt} />
          </span>
        </span>
      }
    >
      <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsOf', { email })} />}>
        <MenuItem icon={RotateCw} onSelect={resend}>
          {t('resend')}
        </MenuItem>
        {!hasExpired && (
          <MenuItem icon={Link2} onSelect={() => onSent(email)}>
            {t('showDelivery')}
          </MenuItem>
        )}
        <MenuItem icon={Trash2} isDanger onSelect={() => setRevoking(true)}>
          {t('revoke')}
        </MenuItem>
      </Menu>
      <ConfirmDialog
        title={t('revokeConfirm', { email })}
        description={t('revokeText')}
        action={t('revokeAction')}
        isOpen={isRevoking}
        onClose={() => setRevoking(false)}
        onConfirm={revoke}
      />
    </ListRow>
  )
}

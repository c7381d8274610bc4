import { Ellipsis, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ListRow, PageContent } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { DialogButton } from './dialog-buttons.tsx'
import { Domains } from './domains.tsx'
import { ListPanel } from './list-panel.tsx'
import { type Pages, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { SsoConnection } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'
import { SsoConnectionForm } from './sso-connection-form.tsx'

const path = '/v5/sso-connections'

/** Connections to identity providers, and the domains whose people may join through them. */
export function SingleSignOn() {
  const t = useTranslations('settings.sso')
  const pages = usePages<SsoConnection>(path)
  return (
    <>
      <SectionBar title={t('title')} />
      <PageContent isNarrow>
        <Connections pages={pages} />
        {/* Wait for the list above, whose connections would push this down. */}
        {!pages.isPending && <Domains />}
      </PageContent>
    </>
  )
}

function Connections({ pages }: { pages: Pages<SsoConnection> }) {
  const t = useTranslations('settings.sso')
  const may = useMay()
  return (
    <ListPanel
      title={t('connections')}
      description={t('connectionsText')}
      path={path}
      pages={pages}
      empty={t('empty')}
      actions={
        may('sso-connection:create:write') && (
          <DialogButton icon={Plus} label={t('add')} title={t('addTitle')}>
            {(close) => <SsoConnectionForm onDone={close} onCancel={close} />}
          </DialogButton>
        )
      }
    >
      {(connection) => <ConnectionRow connection={connection} />}
    </ListPanel>
  )
}

function ConnectionRow({ connection }: { connection: SsoConnection }) {
  const t = useTranslations('settings.sso')
  const act = useAct()
  const common = useTranslations('common')
  const may = useMay()
  const [open, setOpen] = useState<'addresses' | 'edit' | 'delete'>()
  const close = () => setOpen(undefined)
  const { id, name, issuer, enabled } = connection
  const remove = () =>
    act(() => send('DELETE', `/v5/sso-connections/${id}`), {
      refresh: ['sso-connections'],
      done: t('removed', { name }),
    })
  return (
    <ListRow
      title={
        <span className={styles.name}>
          <span className="truncate">{name}</span>
          <Tag tint={enabled ? 'green' : 'gray'} hasDot>
            {t(enabled ? 'enabled' : 'disabled')}
          </Tag>
        </span>
      }
      text={issuer}
    >
      <Button kind="quiet" onClick={() => setOpen('addresses')}>
        {t('addresses')}
      </Button>
      {may('sso-connection:update:write') && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsOf', { name })} />}>
          <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
            {common('edit')}
          </MenuItem>
          <MenuItem icon={Trash2} isDanger onSelect={() => setOpen('delete')}>
            {t('remove')}
          </MenuItem>
        </Menu>
      )}
      <Dialog title={t('addressesTitle', { name })} isOpen={open === 'addresses'} onClose={close}>
        <p>{t('redirectText')}</p>
        <CopyField label={t('redirect')} value={`${location.origin}/auth/sso/callback/${id}`} />
        <p>{t('startText')}</p>
        <CopyField label={t('start')} value={`${location.origin}/auth/sso/${id}`} />
      </Dialog>
      <Dialog title={t('editTitle', { name })} isOpen={open === 'edit'} onClose={close}>
        <SsoConnectionForm connection={connection} onDone={close} onCancel={close} />
      </Dialog>
      <ConfirmDialog
        title={t('removeConfirm', { name })}
        description={t('removeText')}
        action={common('remove')}
        isOpen={open === 'delete'}
        onClose={close}
        onConfirm={remove}
      />
    </ListRow>
  )
}

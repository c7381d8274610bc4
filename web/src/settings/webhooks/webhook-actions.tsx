import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, History, Pause, Pencil, Play, RotateCw, ScrollText, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { send } from '../../api/client.ts'
import { editOf, sendEdit } from '../../api/edit.ts'
import { useMay } from '../../api/permissions.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { useGoTo } from '../location.ts'
import { RotateForm } from '../rotate-form.tsx'
import { nameOf, path, section, type Webhook, type WebhookWithSecret } from './data.ts'
import { ReplaySince } from './replay-since.tsx'

/** Changes the status unless somebody else has changed it meanwhile. */
export function useSetStatus(webhook: Webhook) {
  const t = useTranslations('settings.webhooks')
  const act = useAct()
  return (status: 'enabled' | 'paused') =>
    act(() => sendEdit({ ...editOf('webhooks', webhook), values: { status } }), {
      refresh: ['webhooks'],
      done: t(status === 'paused' ? 'pausedNamed' : 'enabledNamed', { name: nameOf(webhook) }),
    })
}

interface WebhookActionsProps {
  webhook: Webhook
  onRotated(webhook: WebhookWithSecret): void
}

type OpenDialog = 'rotate' | 'replay' | 'delete'

/** What can be done with a webhook. */
export function WebhookActions({ webhook, onRotated }: WebhookActionsProps) {
  const t = useTranslations('settings.webhooks')
  const common = useTranslations('common')
  const may = useMay()
  const goTo = useGoTo()
  const setStatus = useSetStatus(webhook)
  const [open, setOpen] = useState<OpenDialog>()
  const close = () => setOpen(undefined)
  const { id, status } = webhook
  const canUpdate = may('webhook:update:write')
  return (
    <>
      {canUpdate && (
        <Button icon={Pencil} onClick={() => goTo(section, { webhook: id, edit: 'true' })}>
          {common('edit')}
        </Button>
      )}
      <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsOf', { name: nameOf(webhook) })} />}>
        {canUpdate &&
          (status === 'enabled' ? (
            <MenuItem icon={Pause} onSelect={() => void setStatus('paused')}>
              {t('pause')}
            </MenuItem>
          ) : (
            <MenuItem icon={Play} onSelect={() => void setStatus('enabled')}>
              {t(status === 'paused' ? 'resume' : 'enable')}
            </MenuItem>
          ))}
        {may('webhook:rotate:write') && (
          <MenuItem icon={RotateCw} onSelect={() => setOpen('rotate')}>
            {t('rotate')}
          </MenuItem>
        )}
        {may('webhook:replay:write') && (
          <MenuItem icon={History} onSelect={() => setOpen('replay')}>
            {t('replaySince')}
          </MenuItem>
        )}
        <MenuItem icon={ScrollText} onSelect={() => goTo('audit-log', { 'filter.recordId.equals': id })}>
          {t('showEvents')}
        </MenuItem>
        {may('webhook:delete:write') && (
          <>
            <MenuSeparator />
            <MenuItem icon={Trash2} isDanger onSelect={() => setOpen('delete')}>
              {t('delete')}
            </MenuItem>
          </>
        )}
      </Menu>
      <ActionDialogs {...{ webhook, onRotated, open }} onClose={close} />
    </>
  )
}

interface ActionDialogsProps extends WebhookActionsProps {
  open: OpenDialog | undefined
  onClose(): void
}

function ActionDialogs({ webhook, onRotated, open, onClose }: ActionDialogsProps) {
  const t = useTranslations('settings.webhooks')
  const remove = useRemove(webhook)
  const name = nameOf(webhook)
  return (
    <>
      <Dialog
        title={t('rotateTitle', { name })}
        description={t('rotateText')}
        isOpen={open === 'rotate'}
        onClose={onClose}
      >
        <RotateForm<WebhookWithSecret>
          path={`${path}/${webhook.id}`}
          onCancel={onClose}
          onDone={(rotated) => {
            onClose()
            onRotated(rotated)
          }}
        />
      </Dialog>
      <Dialog
        title={t('replaySinceTitle')}
        description={t('replaySinceText')}
        isOpen={open === 'replay'}
        onClose={onClose}
      >
        <ReplaySince webhookId={webhook.id} onClose={onClose} />
      </Dialog>
      <ConfirmDialog
        title={t('deleteConfirm', { name })}
        description={t('deleteText')}
        action={t('deleteAction')}
        isOpen={open === 'delete'}
        onClose={onClose}
        onConfirm={remove}
      />
    </>
  )
}

/** Deletes the webhook, and offers to undo that. */
function useRemove(webhook: Webhook): () => Promise<void> {
  const t = useTranslations('settings.webhooks')
  const common = useTranslations('common')
  const act = useAct()
  const navigate = useNavigate()
  const own = `${path}/${webhook.id}`
  const restore = () =>
    void act(() => send('POST', `${own}/restore`), { refresh: ['webhooks'], done: common('undone') })
  const remove = async () => {
    // First, because this page refetches the webhook every two seconds: it would miss the deleted one.
    await navigate({ to: '/settings/$section', params: { section }, search: {} })
    await send('DELETE', own)
  }
  return () => act(remove, { refresh: ['webhooks'], done: t('deleted', { name: nameOf(webhook) }), undo: restore })
}

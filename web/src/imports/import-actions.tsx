import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, Eraser, Pause, Play, RotateCw, SlidersHorizontal, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { editOf, sendEdit } from '../api/edit.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useResource } from '../api/schema.ts'
import { useSeen } from '../api/use-seen.ts'
import { useDraft } from '../preferences/drafts.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { ImportFields, inputOf, valuesOf } from './import-fields.tsx'
import { change, changed, deleteImport, type Import, pathOf, type RotatedImport } from './import-queries.ts'
import { RemoveReceived } from './remove-received.tsx'

interface ImportActionsProps {
  one: Import
  onRotated(rotated: RotatedImport): void
}

type Open = 'settings' | 'rotate' | 'remove' | 'delete'

/** Actions to disable or enable, change, rotate and delete an import. */
export function ImportActions({ one, onRotated }: ImportActionsProps) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const notifyFailure = useNotifyFailure()
  const permissions = useResource('imports')?.permissions
  const [open, setOpen] = useState<Open>()
  const [isBusy, setBusy] = useState(false)
  const close = () => setOpen(undefined)
  const isEnabled = one.disabledAt === null
  const toggle = async () => {
    setBusy(true)
    try {
      await change(`${pathOf(one.id)}/${isEnabled ? 'disable' : 'enable'}`)
      notify(t(isEnabled ? 'nowDisabled' : 'nowEnabled', { name: one.name }))
    } catch (error) {
      notifyFailure(error)
    } finally {
      setBusy(false)
    }
  }
  if (!permissions?.update) return null
  return (
    <>
      <Button icon={isEnabled ? Pause : Play} isBusy={isBusy} onClick={() => void toggle()}>
        {t(isEnabled ? 'disable' : 'enable')}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label={common('more')} />}>
        <MenuItem icon={SlidersHorizontal} onSelect={() => setOpen('settings')}>
          {t('settings')}
        </MenuItem>
        <MenuItem icon={RotateCw} onSelect={() => setOpen('rotate')}>
          {t('rotate')}
        </MenuItem>
        {permissions.delete && (
          <>
            <MenuSeparator />
            <MenuItem icon={Eraser} isDanger onSelect={() => setOpen('remove')}>
              {t('removeReceived')}
            </MenuItem>
            <MenuItem icon={Trash2} isDanger onSelect={() => setOpen('delete')}>
              {common('delete')}
            </MenuItem>
          </>
        )}
      </Menu>
      <Dialog title={t('settingsTitle')} isOpen={open === 'settings'} onClose={close}>
        <SettingsForm one={one} onClose={close} />
      </Dialog>
      <Dialog title={t('rotateTitle')} description={t('rotateText')} isOpen={open === 'rotate'} onClose={close}>
        <RotateForm one={one} onClose={close} onRotated={onRotated} />
      </Dialog>
      <RemoveReceived one={one} isOpen={open === 'remove'} onClose={close} />
      <DeleteDialog one={one} isOpen={open === 'delete'} onClose={close} />
    </>
  )
}

function SettingsForm({ one, onClose }: { one: Import; onClose(): void }) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const seen = useSeen(one)
  const [input, setInput, isRestored] = useDraft(`import ${one.id}`, () => inputOf(one))
  const save = async () => {
    await changed(await sendEdit({ ...editOf('imports', seen), values: { ...valuesOf(input) } }))
    onClose()
    notify(t('saved'))
  }
  return (
    <Form isRestored={isRestored} onSubmit={save} onCancel={onClose} submitLabel={common('save')}>
      {(errorOf) => <ImportFields input={input} onChange={setInput} errorOf={errorOf} />}
    </Form>
  )
}

const hour = 3600
const overlaps = { now: 0, hour, day: 24 * hour, week: 7 * 24 * hour, month: 30 * 24 * hour } as const
type Overlap = keyof typeof overlaps

function RotateForm({ one, onClose, onRotated }: ImportActionsProps & { onClose(): void }) {
  const t = useTranslations('imports')
  const post = usePostOnce()
  const [overlap, setOverlap] = useState<Overlap>('day')
  const names = Object.keys(overlaps) as Overlap[]
  const rotate = async () => {
    const answer = await post<RotatedImport>(`${pathOf(one.id)}/rotate`, { overlapSeconds: overlaps[overlap] })
    onRotated(await changed(answer))
    onClose()
  }
  return (
    <Form onSubmit={rotate} onCancel={onClose} submitLabel={t('rotateAction')}>
      {(errorOf) => (
        <SelectField
          label={t('overlap')}
          hint={t('overlapHint')}
          error={errorOf('overlapSeconds')}
          options={names.map((value) => ({ value, label: t(`overlaps.${value}`) }))}
          value={overlap}
          onChange={({ target }) => setOverlap(names.find((name) => name === target.value) ?? 'day')}
        />
      )}
    </Form>
  )
}

function DeleteDialog({ one, isOpen, onClose }: { one: Import; isOpen: boolean; onClose(): void }) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  const notifyFailure = useNotifyFailure()
  const navigate = useNavigate()
  const restore = () => void change(`${pathOf(one.id)}/restore`).catch(notifyFailure)
  const remove = async () => {
    try {
      await navigate({ to: '/imports' })
      await deleteImport(one.id)
      notify(t('deleted', { name: one.name }), { undo: restore })
    } catch (error) {
      notifyFailure(error)
    }
  }
  return (
    <ConfirmDialog
      title={t('deleteTitle', { name: one.name })}
      description={t('deleteText')}
      action={common('delete')}
      isOpen={isOpen}
      onClose={onClose}
      onConfirm={remove}
    />
  )
}

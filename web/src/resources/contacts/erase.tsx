import { useTranslations } from 'use-intl'
import { send } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { queryClient } from '../../api/query-client.ts'
import { timelineKey } from '../../api/timeline.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { notify } from '../../ui/toast.tsx'
import type { EraseDialogProps } from '../../views/record-page.tsx'
import { removeFromLists } from '../../views/use-record-window.ts'

const contacts = '/v5/contacts'

/** Erases a contact after the person has typed its name, because nothing can bring it back. */
export function EraseContact({ record, title, onClose, onErased }: EraseDialogProps) {
  const t = useTranslations('erasing')
  const erase = async ({ name = '' }: Record<string, string>) => {
    if (name.trim() !== title.trim()) throw wrongName(t('wrong', { title }))
    await send('POST', `${contacts}/${record.id}/erase`, { idempotencyKey: crypto.randomUUID() })
    removeFromLists(contacts, new Set([record.id]))
    for (const queryKey of [timelineKey, ['tasks']]) void queryClient.invalidateQueries({ queryKey })
    notify(t('done', { title }))
    onErased()
  }
  return (
    <Dialog title={t('title', { title })} description={<Consequences />} isOpen onClose={onClose}>
      <Form submitLabel={t('action')} submitKind="danger" onCancel={onClose} onSubmit={erase}>
        {(errorOf) => (
          <TextField label={t('confirm', { title })} name="name" error={errorOf('name')} autoComplete="off" />
        )}
      </Form>
    </Dialog>
  )
}

function Consequences() {
  const t = useTranslations('erasing')
  return (
    <>
      <p>{t('goes')}</p>
      <p>{t('stays')}</p>
    </>
  )
}

const wrongName = (message: string): ApiError => {
  const details = [{ field: 'name', message }]
  return new ApiError(422, { code: 'invalid_field_value', message, description: message, details }, undefined)
}

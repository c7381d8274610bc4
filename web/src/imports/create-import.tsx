import { useNavigate } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { usePostOnce } from '../api/post-once.ts'
import { useDraft } from '../preferences/drafts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { ImportFields, inputOf, valuesOf } from './import-fields.tsx'
import { changed, type ImportWithUrl } from './import-queries.ts'
import { keepUrl } from './one-time-url.ts'

/** Creates an import and opens its page, which shows the new URL once. */
export function CreateImport({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const t = useTranslations('imports')
  return (
    <Dialog title={t('new')} description={t('newText')} isOpen={isOpen} onClose={onClose}>
      <CreateForm onClose={onClose} />
    </Dialog>
  )
}

function CreateForm({ onClose }: { onClose(): void }) {
  const t = useTranslations('imports')
  const navigate = useNavigate()
  const post = usePostOnce()
  const [input, setInput, isRestored] = useDraft('new import', () => inputOf())
  const create = async () => {
    const { id, triggerUrl } = await changed(await post<ImportWithUrl>('/v5/imports', valuesOf(input)))
    keepUrl(id, triggerUrl)
    await navigate({ to: '/imports/$importId', params: { importId: id } })
  }
  return (
    <Form isRestored={isRestored} onSubmit={create} onCancel={onClose} submitLabel={t('createAction')}>
      {(errorOf) => <ImportFields input={input} onChange={setInput} errorOf={errorOf} />}
    </Form>
  )
}

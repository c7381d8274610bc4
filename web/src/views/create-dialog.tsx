import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { usePostOnce } from '../api/post-once.ts'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { Button } from '../ui/button.tsx'
import { changeOf } from './changes.ts'
import { type Property, propertiesOf } from './columns.tsx'
import { PropertyInput } from './property-input.tsx'
import { valueOfText } from './value-editor.tsx'
import { reloadLists } from './use-record-window.ts'

interface CreateDialogProps {
  resource: ResourceSchema
  /** What was searched for: the name, or the address if it is one. */
  text: string
  onClose(): void
}

/** Fields at first; the rest appears on request. */
const firstFields = 6

/** Creates a record of any resource; the form follows from the description. */
export function CreateDialog({ resource, text, onClose }: CreateDialogProps) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const [values, setValues] = useState<Record<string, unknown>>(() => initialValues(resource, text))
  const [isComplete, setComplete] = useState(false)
  const post = usePostOnce()
  const properties = propertiesOf(resource).filter(({ isReadOnly, field }) => !isReadOnly && field !== undefined)
  const required = properties.filter(({ field }) => field?.required)
  const ordered = [...required, ...properties.filter(({ field }) => !field?.required)]
  const shown = isComplete ? ordered : ordered.slice(0, Math.max(firstFields, required.length))
  const submit = async () => {
    const body = Object.assign(
      {},
      ...properties.flatMap((property) => {
        const value = values[property.name]
        return value === undefined || value === null || value === '' ? [] : [changeOf(property, value)]
      }),
    )
    const { body: record } = await post<RecordData>(resource.path, body)
    reloadLists(resource.path)
    await navigate({ to: '/$resource/$recordId', params: { resource: resource.name, recordId: record.id } })
  }
  return (
    <Dialog title={t('createTitle', { name: nounOf(resource.singularLabel) })} isOpen onClose={onClose}>
      <Form
        isGuarded
        onSubmit={submit}
        submitLabel={t('create', { name: nounOf(resource.singularLabel) })}
        onCancel={onClose}
      >
        {(errorOf) => (
          <>
            {shown.map((property) => (
              <PropertyInput
                key={property.name}
                property={property}
                value={values[property.name]}
                error={errorOf(property.field?.name ?? property.name)}
                onChange={(value) => setValues({ ...values, [property.name]: value })}
              />
            ))}
            {shown.length < ordered.length && (
              <Button kind="quiet" onClick={() => setComplete(true)}>
                {t('moreFields', { count: ordered.length - shown.length })}
              </Button>
            )}
          </>
        )}
      </Form>
    </Dialog>
  )
}

function initialValues(resource: ResourceSchema, text: string): Record<string, unknown> {
  if (text === '') return {}
  const email = propertiesOf(resource).find(({ type }: Property) => type === 'email')
  const title = propertiesOf(resource).find(({ name }) => name === resource.titleField)
  const property = text.includes('@') ? (email ?? title) : title
  return property ? { [property.name]: valueOfText(property, text) } : {}
}

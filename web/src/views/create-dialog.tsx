import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { usePostOnce } from '../api/post-once.ts'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { useDraft } from '../preferences/drafts.ts'
import { resourceViews } from '../registry/resources.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FieldGroup } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Button } from '../ui/button.tsx'
import { bodyOf } from './changes.ts'
import { propertiesOf } from './columns.tsx'
import { PropertyInput } from './property-input.tsx'
import { valueOfText } from './typed-values.ts'
import { reloadLists } from './use-record-window.ts'
import type { Property } from './property.ts'

interface CreateDialogProps {
  resource: ResourceSchema
  /** The search text: the record's name, or its address if it is one. */
  text: string
  /** Initial values by property name. */
  initial?: Readonly<Record<string, unknown>>
  /** Called with the new record before its page opens. */
  onCreated?(record: RecordData): Promise<void>
  onClose(): void
}

/** Number of initial fields, unless the registry lists them; the others appear on request. */
const firstFields = 6

/** Creates a record of any resource, with a form derived from the schema. */
export function CreateDialog({ resource, text, initial, onCreated, onClose }: CreateDialogProps) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const [values, setValues, isRestored] = useDraft<Record<string, unknown>>(`new ${resource.name}`, () => ({
    ...defaultValues(resource),
    ...initialValues(resource, text),
    ...initial,
  }))
  const [isComplete, setComplete] = useState(false)
  const post = usePostOnce()
  const properties = propertiesOf(resource).filter(({ isReadOnly, field }) => !isReadOnly && field !== undefined)
  const required = properties.filter(({ field }) => field?.required)
  const labelOf = useLabel()
  const { form, group } = resourceViews[resource.name] ?? {}
  const isFirst = (property: Property) => form?.includes(property.name) ?? false
  const others = properties.filter(({ field }) => !field?.required)
  const named = (form ?? []).flatMap((name) => others.find((property) => property.name === name) ?? [])
  const ordered = [...required, ...named, ...others.filter((property) => !isFirst(property))]
  const firstCount = form ? required.length + named.length : Math.max(firstFields, required.length)
  const shown = isComplete ? ordered : ordered.slice(0, firstCount)
  const draft = bodyOf(
    properties.flatMap((property): [Property, unknown][] => {
      const value = values[property.name]
      const isEmpty = value === undefined || value === null || value === ''
      // Otherwise, the service would set the default that the person has removed.
      if (isEmpty) return value !== undefined && hasDefault(property) ? [[property, null]] : []
      return [[property, value]]
    }),
  )
  const submit = async () => {
    const { body: record } = await post<RecordData>(resource.path, draft)
    await onCreated?.(record)
    reloadLists(resource.path)
    await navigate({ to: '/$resource/$recordId', params: { resource: resource.name, recordId: record.id } })
  }
  return (
    <Dialog title={t('createTitle', { name: nounOf(resource.singularLabel) })} isOpen onClose={onClose}>
      <Form
        isGuarded
        isRestored={isRestored}
        onSubmit={submit}
        submitLabel={t('create', { name: nounOf(resource.singularLabel) })}
        onCancel={onClose}
      >
        {(errorOf) => (
          <>
            {partsOf(shown, isComplete ? group?.fields : undefined).map((part) => {
              const inputs = part.map((property) => (
                <PropertyInput
                  key={property.name}
                  property={property}
                  value={values[property.name]}
                  record={draft}
                  error={errorOf(property.field?.name ?? property.name)}
                  onChange={(value) => setValues({ ...values, [property.name]: value })}
                />
              ))
              return group && part.length > 1 ? (
                <FieldGroup key={group.label} label={labelOf(group.label)}>
                  {inputs}
                </FieldGroup>
              ) : (
                inputs
              )
            })}
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

/** The properties one by one; those of the group are one part, where the first of them is, in the order of the group. */
function partsOf(properties: readonly Property[], group: readonly string[] = []): readonly Property[][] {
  const grouped = group.flatMap((name) => properties.filter((property) => property.name === name))
  const first = properties.find((property) => grouped.includes(property))
  return properties.flatMap((property) =>
    property === first ? [grouped] : grouped.includes(property) ? [] : [[property]],
  )
}

/** Only custom properties have defaults here; those of other fields are the first options of their selects. */
const hasDefault = ({ field }: Property): boolean =>
  field !== undefined && 'declared' in field && (field.initial ?? null) !== null

const defaultValues = (resource: ResourceSchema): Record<string, unknown> =>
  Object.fromEntries(
    propertiesOf(resource)
      .filter(hasDefault)
      .map(({ name, field }) => [name, field?.initial]),
  )

function initialValues(resource: ResourceSchema, text: string): Record<string, unknown> {
  if (text === '') return {}
  const email = propertiesOf(resource).find(({ type }: Property) => type === 'email')
  const title = propertiesOf(resource).find(({ name }) => name === resource.titleField)
  const property = text.includes('@') ? (email ?? title) : title
  return property ? { [property.name]: valueOfText(property, text) } : {}
}

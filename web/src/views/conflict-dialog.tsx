import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { type Conflict, useConflict } from '../api/conflict.ts'
import { ApiError } from '../api/error.ts'
import { useMe } from '../api/me.ts'
import { type RecordData, useResource, useSchema, valueAt } from '../api/schema.ts'
import { useLabel, usePropertyLabel } from '../messages/labels.ts'
import { useAuthorOf } from './author.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Time } from '../ui/time.tsx'
import { propertiesOf } from './columns.tsx'
import styles from './conflict-dialog.module.css'
import { lastChangeOf } from './last-change.ts'
import { Value } from './value.tsx'
import { withValue } from './with-value.ts'
import type { Property } from './property.ts'

/** Shows what somebody else has saved meanwhile, and asks which value to keep. Rendered once in the application. */
export function ConflictDialog() {
  const question = useConflict()
  return question && <Content key={`${question.path} ${question.field}`} question={question} />
}

function Content({ question }: { question: NonNullable<ReturnType<typeof useConflict>> }) {
  const t = useTranslations('conflict')
  const common = useTranslations('common')
  const resource = useResource(question.resource)
  const labelOf = useLabel()
  const propertyLabel = usePropertyLabel()
  const property =
    resource && propertiesOf(resource).find(({ name, field }) => (field?.name ?? name) === question.field)
  const name = property ? propertyLabel(property) : labelOf(labelOfField(question.field))
  const decline = () => {
    const error = { code: 'precondition_failed', message: t('title', { name }), description: t('declined', { name }) }
    question.decline(new ApiError(412, error, undefined))
  }
  const { current, mine, shown, field } = question
  const own = property ? withValue(current, property, mine, shown) : current
  return (
    <Dialog title={t('title', { name })} description={<Author conflict={question} />} isOpen onClose={decline}>
      <dl className={styles.values}>
        <Entry label={t('theirs')}>
          <Shown {...{ property, record: current, resourceName: question.resource }} value={valueAt(current, field)} />
        </Entry>
        <Entry label={t('mine')}>
          <Shown {...{ property, record: own, resourceName: question.resource }} value={mine} />
        </Entry>
      </dl>
      <DialogActions>
        <Button onClick={decline}>{common('cancel')}</Button>
        <Button onClick={() => question.answer('theirs')}>{t('takeTheirs')}</Button>
        <Button kind="primary" onClick={() => question.answer('mine')}>
          {t('keepMine')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

/** Who changed it, and when. */
function Author({ conflict }: { conflict: Conflict }) {
  const t = useTranslations('conflict')
  const me = useMe()
  const schema = useSchema()
  const authorOf = useAuthorOf()
  const { path, field, current } = conflict
  const { data: change } = useQuery({
    queryKey: ['last change', path, field, current.updatedAt],
    queryFn: () => lastChangeOf(conflict, schema),
    gcTime: 0,
  })
  const at = change?.at ?? current.updatedAt
  const isOwn = change?.authorId === me.id && (change.entry?.change?.source ?? 'person') === 'person'
  const author = isOwn
    ? t('you', { name: me.name })
    : change?.entry
      ? authorOf({ entry: change.entry, names: change.names })
      : change?.names[change.authorId ?? '']
  return (
    <p role="status">
      {change && (author === undefined ? t('changedBySomebody') : t('changedBy', { author }))}
      {typeof at === 'string' && (
        <>
          {' · '}
          <Time value={at} isFocusable />
        </>
      )}
    </p>
  )
}

const Entry = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className={styles.entry}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)

interface ShownProps {
  resourceName: string
  property: Property | undefined
  record: RecordData
  value: unknown
}

/** The value as on the record's page; texts in full. */
function Shown({ resourceName, property, record, value }: ShownProps) {
  const t = useTranslations('conflict')
  const resource = useResource(resourceName)
  const isEmpty = value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  if (isEmpty) return <span className={styles.empty}>{t('empty')}</span>
  const isText = property === undefined || property.type === 'longText' || property.name === resource?.titleField
  if (resource && !isText) return <Value {...{ resource, property, record }} />
  return (
    <div className={styles.text} tabIndex={0} role="group" aria-label={t('value')}>
      {textOf(value)}
    </div>
  )
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return 'label' in value ? String(value.label) : JSON.stringify(value, undefined, 2)
}

/** `timeZone` becomes `Time zone`. */
function labelOfField(field: string): string {
  const words = (field.split('.').at(-1) ?? field).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

import { Plus, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import {
  type ConditionDraft,
  type Draft,
  type GroupDraft,
  matches,
  type RelationDraft,
  relatedName,
} from './filter-draft.ts'
import { ConditionFields, emptyCondition, filterable, SubjectField, useFindResource } from './filter-fields.tsx'
import { emptyFilter } from './filter-value.tsx'
import styles from './list.module.css'

interface EditorProps<Edited extends Draft> {
  resource: ResourceSchema
  draft: Edited
  onChange(draft: Edited): void
}

/** Edits a filter with more than one condition. */
export function GroupEditor({ resource, draft, onChange }: EditorProps<RelationDraft | GroupDraft>) {
  return draft.kind === 'relation' ? (
    <RelationFields resource={resource} draft={draft} onChange={onChange} />
  ) : (
    <GroupFields resource={resource} draft={draft} canNest onChange={onChange} />
  )
}

/** Adds rows, and removes them without losing the focus. */
function useRows<Row>(rows: readonly Row[], onChange: (rows: readonly Row[]) => void) {
  const addButton = useRef<HTMLButtonElement>(null)
  const [added, setAdded] = useState<number>()
  return {
    addButton,
    isNew: (index: number) => index === added,
    add(row: Row) {
      setAdded(rows.length)
      onChange([...rows, row])
    },
    remove(index: number) {
      onChange(rows.toSpliced(index, 1))
      addButton.current?.focus()
    },
  }
}

/** At least one related record, or none, that matches all or any of the conditions. */
function RelationFields({ resource, draft, onChange }: EditorProps<RelationDraft>) {
  const t = useTranslations('filters')
  const related = useFindResource()(relatedName(resource, draft.relation))
  const names = resource.relations.find(({ name }) => name === draft.relation)?.fields ?? []
  const { conditions } = draft
  const change = (changed: readonly ConditionDraft[]) => onChange({ ...draft, conditions: changed })
  const { addButton, isNew, add, remove } = useRows(conditions, change)
  if (!related) return undefined
  const properties = filterable(related).filter(
    (property) => names.includes(property.filterBy) || property.name.startsWith('customProperties.'),
  )
  return (
    <>
      <div className={styles.counted}>
        <SelectField
          label={t('quantifier')}
          value={draft.quantifier}
          options={(['some', 'none'] as const).map((value) => ({ value, label: t(`quantifiers.${value}`) }))}
          onChange={(event) => onChange({ ...draft, quantifier: event.target.value === 'none' ? 'none' : 'some' })}
        />
        {conditions.length > 1 && (
          <SelectField
            label={t('match')}
            value={draft.match}
            options={(['and', 'or'] as const).map((value) => ({ value, label: t(`matches.${value}`) }))}
            onChange={(event) => onChange({ ...draft, match: event.target.value === 'or' ? 'or' : 'and' })}
          />
        )}
      </div>
      {conditions.map((condition, index) => (
        <Row key={index} number={index + 1} isNew={isNew(index)} onRemove={() => remove(index)}>
          <PropertyField
            properties={properties}
            condition={condition}
            onChange={(changed) => change(conditions.with(index, changed))}
          />
          <ConditionFields
            properties={properties}
            condition={condition}
            onChange={(changed) => change(conditions.with(index, changed))}
          />
        </Row>
      ))}
      {conditions.length === 0 && <p className={styles.hint}>{t('anyRelated')}</p>}
      <span>
        <Button ref={addButton} kind="quiet" icon={Plus} onClick={() => add(emptyCondition(properties))}>
          {t('addCondition')}
        </Button>
      </span>
    </>
  )
}

interface PropertyFieldProps {
  properties: Parameters<typeof ConditionFields>[0]['properties']
  condition: ConditionDraft
  onChange(condition: ConditionDraft): void
}

function PropertyField({ properties, condition, onChange }: PropertyFieldProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  return (
    <SelectField
      label={t('property')}
      value={condition.field}
      options={properties.map((one) => ({ value: one.filterBy, label: labelOf(one) }))}
      onChange={(event) => {
        const property = properties.find(({ filterBy }) => filterBy === event.target.value)
        onChange({ kind: 'condition', ...emptyFilter(property) })
      }}
    />
  )
}

/** Rows of which all, any or none must match. A nested group can only contain conditions and related records. */
function GroupFields({ resource, draft, canNest, onChange }: EditorProps<GroupDraft> & { canNest?: boolean }) {
  const t = useTranslations('filters')
  const { rows, match } = draft
  const properties = filterable(resource)
  const change = (changed: readonly Draft[]) => onChange({ ...draft, rows: changed })
  const { addButton, isNew, add, remove } = useRows(rows, change)
  const inner: GroupDraft = { kind: 'group', match: match === 'or' ? 'and' : 'or', rows: [emptyCondition(properties)] }
  return (
    <>
      <SelectField
        label={t('match')}
        value={match}
        options={matches.map((value) => ({ value, label: t(`matches.${value}`) }))}
        onChange={(event) => onChange({ ...draft, match: matches.find((one) => one === event.target.value) ?? 'and' })}
      />
      {rows.map((row, index) => (
        <Row
          key={index}
          number={index + 1}
          isTall={row.kind !== 'condition'}
          isNew={isNew(index)}
          onRemove={() => remove(index)}
        >
          <RowFields resource={resource} draft={row} onChange={(changed) => change(rows.with(index, changed))} />
        </Row>
      ))}
      <span className={styles.rowActions}>
        <Button ref={addButton} kind="quiet" icon={Plus} onClick={() => add(emptyCondition(properties))}>
          {t('addCondition')}
        </Button>
        {canNest && (
          <Button kind="quiet" icon={Plus} onClick={() => add(inner)}>
            {t('addGroup')}
          </Button>
        )}
      </span>
    </>
  )
}

function RowFields({ resource, draft, onChange }: EditorProps<Draft>) {
  if (draft.kind === 'group') return <GroupFields resource={resource} draft={draft} onChange={onChange} />
  return (
    <>
      <SubjectField resource={resource} draft={draft} onChange={onChange} />
      {draft.kind === 'relation' ? (
        <RelationFields resource={resource} draft={draft} onChange={onChange} />
      ) : (
        <ConditionFields properties={filterable(resource)} condition={draft} onChange={onChange} />
      )}
    </>
  )
}

interface RowProps {
  number: number
  isTall?: boolean
  /** Did the person add the row? Then it gets the focus. */
  isNew: boolean
  onRemove(): void
  children: ReactNode
}

function Row({ number, isTall, isNew, onRemove, children }: RowProps) {
  const t = useTranslations('filters')
  const fields = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isNew) fields.current?.querySelector('select')?.focus()
    // Only on mount.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  return (
    <fieldset className={styles.row}>
      <legend className="visually-hidden">{t('row', { number })}</legend>
      <div ref={fields} className={isTall ? styles.rowStack : styles.rowFields}>
        {children}
      </div>
      <IconButton icon={X} label={t('removeRow', { number })} onClick={onRemove} />
    </fieldset>
  )
}

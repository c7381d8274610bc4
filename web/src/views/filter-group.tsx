import { Plus, X } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
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
import { emptyFilter, filterName } from './filter-value.tsx'
import styles from './list.module.css'

interface EditorProps<Edited extends Draft> {
  resource: ResourceSchema
  draft: Edited
  onChange(draft: Edited): void
}

/** Edits what is more than one condition. */
export function GroupEditor({ resource, draft, onChange }: EditorProps<RelationDraft | GroupDraft>) {
  return draft.kind === 'relation' ? (
    <RelationFields resource={resource} draft={draft} onChange={onChange} />
  ) : (
    <GroupFields resource={resource} draft={draft} canNest onChange={onChange} />
  )
}

/** At least one related record, or none, with all or any of some conditions. */
function RelationFields({ resource, draft, onChange }: EditorProps<RelationDraft>) {
  const t = useTranslations('filters')
  const related = useFindResource()(relatedName(resource, draft.relation))
  const names = resource.relations.find(({ name }) => name === draft.relation)?.fields ?? []
  if (!related) return undefined
  const properties = filterable(related).filter(
    (property) => names.includes(filterName(property)) || property.name.startsWith('customProperties.'),
  )
  const { conditions } = draft
  const change = (changed: readonly ConditionDraft[]) => onChange({ ...draft, conditions: changed })
  const withFirst = emptyCondition(properties)
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
        <Row key={index} number={index + 1} onRemove={() => change(conditions.toSpliced(index, 1))}>
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
        <Button kind="quiet" icon={Plus} onClick={() => change([...conditions, withFirst])}>
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
  const labelOf = useLabel()
  return (
    <SelectField
      label={t('property')}
      value={condition.field}
      options={properties.map((one) => ({ value: filterName(one), label: labelOf(one.label) }))}
      onChange={(event) => {
        const property = properties.find((one) => filterName(one) === event.target.value)
        onChange({ kind: 'condition', ...emptyFilter(property) })
      }}
    />
  )
}

/** Rows that must all match, or any, or none. A group in it has only conditions and related records. */
function GroupFields({ resource, draft, canNest, onChange }: EditorProps<GroupDraft> & { canNest?: boolean }) {
  const t = useTranslations('filters')
  const { rows, match } = draft
  const properties = filterable(resource)
  const change = (changed: readonly Draft[]) => onChange({ ...draft, rows: changed })
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
          onRemove={() => change(rows.toSpliced(index, 1))}
        >
          <RowFields resource={resource} draft={row} onChange={(changed) => change(rows.with(index, changed))} />
        </Row>
      ))}
      <span className={styles.rowActions}>
        <Button kind="quiet" icon={Plus} onClick={() => change([...rows, emptyCondition(properties)])}>
          {t('addCondition')}
        </Button>
        {canNest && (
          <Button kind="quiet" icon={Plus} onClick={() => change([...rows, inner])}>
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
  onRemove(): void
  children: React.ReactNode
}

function Row({ number, isTall, onRemove, children }: RowProps) {
  const t = useTranslations('filters')
  return (
    <fieldset className={styles.row}>
      <legend className="visually-hidden">{t('row', { number })}</legend>
      <div className={isTall ? styles.rowStack : styles.rowFields}>{children}</div>
      <IconButton icon={X} label={t('removeRow', { number })} onClick={onRemove} />
    </fieldset>
  )
}

import { lazy, type SubmitEvent, Suspense } from 'react'
import { useTranslations } from 'use-intl'
import { type FilterNode, partsOf } from '../api/filter-tree.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { useDraft, useUnsaved } from '../preferences/drafts.ts'
import { Button } from '../ui/button.tsx'
import type { Draft } from './filter-draft.ts'
import { isComplete, isTooDeep, nodeOf } from './filter-node.ts'
import { ConditionFields, emptyCondition, filterable, SubjectField, useFindResource } from './filter-fields.tsx'
import styles from './list.module.css'

const GroupEditor = lazy(() => import('./filter-group.tsx').then((module) => ({ default: module.GroupEditor })))

interface FilterFormProps {
  resource: ResourceSchema
  draft: Draft | undefined
  onApply(parts: readonly FilterNode[]): void
}

/** Edits a condition, related records or a group; can be used with the keyboard alone. */
export function FilterForm({ resource, draft: before, onApply }: FilterFormProps) {
  const t = useTranslations('list')
  const filters = useTranslations('filters')
  const find = useFindResource()
  const initial = before ?? emptyCondition(filterable(resource))
  const [draft, setDraft] = useDraft<Draft>(`filter ${resource.name} ${JSON.stringify(before)}`, () => initial)
  useUnsaved('form', JSON.stringify(draft) !== JSON.stringify(initial))
  const node = isComplete(draft) ? nodeOf(draft, resource, find) : undefined
  const isDeep = node !== undefined && isTooDeep(node)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    event.stopPropagation()
    if (node && !isDeep) onApply(partsOf(node))
  }
  return (
    <form className={draft.kind === 'condition' ? styles.filterForm : styles.groupForm} onSubmit={submit}>
      <SubjectField resource={resource} draft={draft} canGroup onChange={setDraft} />
      {draft.kind === 'condition' ? (
        <ConditionFields properties={filterable(resource)} condition={draft} onChange={setDraft} />
      ) : (
        <Suspense>
          <GroupEditor resource={resource} draft={draft} onChange={setDraft} />
        </Suspense>
      )}
      {isDeep && <p role="alert">{filters('deep')}</p>}
      <Button type="submit" kind="primary" disabled={!node || isDeep}>
        {t('apply')}
      </Button>
    </form>
  )
}

import { useEffect, useMemo } from 'react'
import { useTranslations } from 'use-intl'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import type { ColumnChanges } from '../ui/data-grid/grid-head.tsx'
import { type GridColumn, moveColumn } from '../ui/data-grid/grid-model.ts'
import { changeableValue, changeProperty, type ChangeTexts, recordChanged } from './changes.ts'
import { iconOf, propertyOf } from './columns.tsx'
import { WithPeople } from './people-here.tsx'
import { RecordValueEditor } from './record-value-editor.tsx'
import { Toggle, ToggleKey } from './toggle.tsx'
import { Value } from './value.tsx'
import { preloadEditors } from './value-editor.tsx'
import { type Column, type ListChanges, type ListState, pinnedFirst } from './list-state.ts'
import type { Property } from './property.ts'

/** The messages after a change: saved, undone or refused. */
export function useChangeTexts(): (property: Property) => ChangeTexts {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  return (property) => {
    const name = labelOf(property)
    return {
      saved: t('saved', { name }),
      merged: t('merged', { name }),
      undone: t('undone', { name }),
      failed: t('notSaved', { name }),
      kept: t('kept'),
      changedMeanwhile: t('changedMeanwhile'),
    }
  }
}

/** The grid's columns, with the display and the editor of each value. */
export function useGridColumns(resource: ResourceSchema, state: ListState): GridColumn<RecordData>[] {
  const labelOf = usePropertyLabel()
  const textsOf = useChangeTexts()
  const { columns, isDeleted } = state
  useEffect(() => preloadEditors(columns.flatMap(({ name }) => propertyOf(resource, name) ?? [])), [resource, columns])
  return useMemo(() => {
    const canEdit = resource.permissions.update && !isDeleted
    return columns.flatMap(({ name, width, isPinned }): GridColumn<RecordData>[] => {
      const property = propertyOf(resource, name)
      if (!property) return []
      const column = { name, width, isPinned, title: labelOf(property), icon: iconOf(property) }
      const value = (record: RecordData) => <Value resource={resource} property={property} record={record} />
      const named = (record: RecordData) => <WithPeople recordId={record.id}>{value(record)}</WithPeople>
      const render = name === resource.titleField ? named : value
      if (!canEdit || property.isReadOnly) return [{ ...column, orderBy: property.orderBy, render }]
      if (name === resourceViews[resource.name]?.toggle) return [toggleColumn(resource, property, column, textsOf)]
      return [
        {
          ...column,
          orderBy: property.orderBy,
          render,
          edit: (record, editing) => (
            <RecordValueEditor
              {...{ resource, record, property }}
              label={labelOf(property)}
              texts={textsOf(property)}
              typed={editing.typed}
              onClose={editing.commit}
              onCancel={editing.cancel}
            />
          ),
        },
      ]
    })
    // The messages only change with the language, which reloads the page.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [resource, columns, isDeleted])
}

/** A column with a flag that one click or key toggles. */
const toggleColumn = (
  resource: ResourceSchema,
  property: Property,
  column: Pick<GridColumn<RecordData>, 'name' | 'width' | 'isPinned' | 'title' | 'icon'>,
  textsOf: (property: Property) => ChangeTexts,
): GridColumn<RecordData> => ({
  ...column,
  orderBy: property.orderBy,
  render: (record) => <Toggle {...{ resource, property, record }} texts={textsOf(property)} />,
  edit: (record, editing) => (
    <ToggleKey
      value={changeableValue(property, record) === true}
      isTyped={editing.typed !== undefined}
      onCancel={editing.cancel}
      onCommit={(value) => {
        editing.commit(value, undefined)
        const show = (changed: RecordData) => recordChanged(resource, changed)
        void changeProperty(resource, record, { property, value }, show, textsOf(property))
      }}
    />
  ),
})

/** Sorts, resizes, moves, pins and hides columns, each by a change of the URL. */
export function useColumnChanges(change: (changes: ListChanges, replace?: boolean) => void): ColumnChanges {
  return useMemo(() => {
    const replaceColumns = (next: (columns: readonly Column[]) => readonly Column[]) =>
      change(({ columns }) => ({ columns: next(columns) }), true)
    const changeColumn = (name: string, changes: Partial<Column>) =>
      replaceColumns((columns) =>
        pinnedFirst(columns.map((column) => (column.name === name ? { ...column, ...changes } : column))),
      )
    return {
      sort: (order) => change(order),
      resize: (name, width) => changeColumn(name, { width }),
      move: (name, before) => replaceColumns((columns) => moveColumn(columns, name, before)),
      pin: (name, isPinned) => changeColumn(name, { isPinned }),
      hide: (name) =>
        replaceColumns((columns) => (columns.length > 1 ? columns.filter((column) => column.name !== name) : columns)),
    }
  }, [change])
}

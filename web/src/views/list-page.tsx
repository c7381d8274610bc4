import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useCallback, useMemo, useRef, useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { whenForgetting } from '../api/query-client.ts'
import { type ResourceSchema, titleOf, useResource } from '../api/schema.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { resourceIcon, resourceViews } from '../resources/registry.ts'
import type { Search } from '../shell/search.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { NotFound } from '../shell/states.tsx'
import { Button } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { DataGrid, type GridPosition } from '../ui/data-grid/data-grid.tsx'
import { type GridSelection, nothingSelected } from '../ui/data-grid/grid-model.ts'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { PageBar } from '../ui/page.tsx'
import { useIsPhone } from '../ui/use-media.ts'
import { BulkBar } from './bulk-bar.tsx'
import { useUndoShortcut } from './changes.ts'
import { CreateDialog } from './create-dialog.tsx'
import { DeletedNotice } from './deleted-notice.tsx'
import { filterParameters, type ListState, readListState, writeListState } from './list-state.ts'
import { cardColumns } from './card.tsx'
import { ListToolbar } from './list-toolbar.tsx'
import { PeekPanel } from './peek-panel.tsx'
import { useColumnChanges, useGridColumns } from './use-grid-columns.tsx'
import { useRecordWindow } from './use-record-window.ts'
import styles from './list.module.css'

/** The list of any resource: what it shows follows from the description and is kept in the URL. */
export function ListPage() {
  const { resource: name } = useParams({ strict: false })
  const resource = useResource(name ?? '')
  if (!resource || !resourceViews[resource.name]) return <NotFound />
  return <ResourceList key={resource.name} resource={resource} />
}

/** Shown until the number of rows is known. */
const skeletonRows = 30

/** Where the person was in each list, for Back. */
const positions = new Map<string, GridPosition>()
whenForgetting(() => positions.clear())

function ResourceList({ resource }: { resource: ResourceSchema }) {
  const t = useTranslations('list')
  const format = useFormatter()
  const labelOf = useLabel()
  const nounOf = useNoun()
  const navigate = useNavigate()
  const search: Search = useSearch({ strict: false })
  const state = useMemo(() => readListState(resource, search), [resource, search])
  const place = `${resource.name} ${filterParameters(state)}`
  const [selection, setSelection] = useState<GridSelection>(nothingSelected)
  // Nothing is done to records that the list no longer shows.
  const [selectedIn, setSelectedIn] = useState(place)
  if (selectedIn !== place) {
    setSelectedIn(place)
    setSelection(nothingSelected)
  }
  const { list, isStale } = useRecordWindow(resource, state)
  const change = useCallback(
    (changes: Partial<ListState>, replace = false) =>
      void navigate({ to: '.', search: writeListState(resource, { ...state, ...changes }), replace }),
    [navigate, resource, state],
  )
  const gridBox = useRef<HTMLDivElement>(null)
  const clearSelection = () => {
    setSelection(nothingSelected)
    // The bar of the selection had the focus and disappears.
    requestAnimationFrame(() => gridBox.current?.querySelector<HTMLElement>('[role=grid]')?.focus())
  }
  const isCreating = typeof search.new === 'string'
  const create = () => void navigate({ to: '.', search: { ...search, new: '1' } })
  const open = (id: string) =>
    void navigate({ to: '/$resource/$recordId', params: { resource: resource.name, recordId: id } })
  useUndoShortcut()
  useShortcuts(
    resource.permissions.create
      ? [{ keys: 'c', label: t('create', { name: nounOf(resource.singularLabel) }), run: create }]
      : [],
  )
  const isPhone = useIsPhone()
  const gridColumns = useGridColumns(resource, state)
  const columns = isPhone ? cardColumns(resource) : gridColumns
  const columnChanges = useColumnChanges(state, change)
  const onNeed = useCallback((first: number, last: number) => list.need(first, last), [list])
  const total = list.total
  return (
    <>
      <PageBar
        title={labelOf(resource.label)}
        note={total === undefined ? undefined : t('count', { count: total, number: format.number(total) })}
      >
        {resource.permissions.create && (
          <Button kind="primary" icon={Plus} onClick={create}>
            {t('create', { name: nounOf(resource.singularLabel) })}
          </Button>
        )}
      </PageBar>
      <ListToolbar resource={resource} state={state} onChange={change} />
      {state.isDeleted && <DeletedNotice days={resource.restorableDays} onClose={() => change({ isDeleted: false })} />}
      <div className={styles.body}>
        <div ref={gridBox} className={classes(styles.gridBox, isStale && styles.stale)}>
          {list.error !== undefined && total === undefined ? (
            <Failure error={list.error} onRetry={() => void list.reload()} />
          ) : (
            <DataGrid
              label={labelOf(resource.label)}
              columns={columns}
              rowHeight={isPhone ? 60 : 36}
              isHeadHidden={isPhone}
              rowCount={total ?? skeletonRows}
              rowAt={(index) => list.rowAt(index)}
              indexOf={(id) => list.indexOf(id)}
              onNeed={onNeed}
              titleOf={(record) => titleOf(resource, record)}
              order={state}
              columnChanges={columnChanges}
              selection={selection}
              onSelect={setSelection}
              loadedIds={() => list.loaded().map(({ id }) => id)}
              onOpen={open}
              peeked={state.peek}
              onPeek={(peek) => change({ peek }, true)}
              startPosition={positions.get(place) ?? { offset: 0, active: undefined }}
              onMove={(move) =>
                positions.set(place, { offset: 0, active: undefined, ...positions.get(place), ...move })
              }
              empty={
                total === 0 && (
                  <NothingHere
                    resource={resource}
                    state={state}
                    onCreate={create}
                    onClear={() => change({ query: '', filters: [] })}
                  />
                )
              }
            />
          )}
          {selection.ids.size > 0 && (
            <BulkBar
              resource={resource}
              list={list}
              selection={selection}
              isDeleted={state.isDeleted}
              onDone={clearSelection}
            />
          )}
        </div>
        {state.peek !== undefined && (
          <PeekPanel resource={resource} id={state.peek} onClose={() => change({ peek: undefined }, true)} />
        )}
      </div>
      {isCreating && (
        <CreateDialog
          resource={resource}
          text={search.new === '1' ? '' : String(search.new)}
          onClose={() => change({}, true)}
        />
      )}
    </>
  )
}

interface NothingHereProps {
  resource: ResourceSchema
  state: ListState
  onCreate(): void
  onClear(): void
}

function NothingHere({ resource, state, onCreate, onClear }: NothingHereProps) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const icon = resourceIcon(resource.name)
  if (state.query !== '' || state.filters.length > 0) return <NoMatch onClear={onClear} />
  if (state.isDeleted) return <EmptyState icon={icon} title={t('nothingDeleted')} text={t('nothingDeletedText')} />
  const name = nounOf(resource.singularLabel)
  return (
    <EmptyState icon={icon} title={t('nothingYet', { name: nounOf(resource.label) })} text={t('nothingYetText')}>
      {resource.permissions.create && (
        <Button kind="primary" icon={Plus} onClick={onCreate}>
          {t('create', { name })}
        </Button>
      )}
    </EmptyState>
  )
}

import { useNavigate, useRouter } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { whenForgetting } from '../api/query-client.ts'
import { type ResourceSchema, titleOf } from '../api/schema.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { resourceIcon } from '../registry/resources.ts'
import { Button } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { DataGrid, type GridPosition } from '../ui/data-grid/data-grid.tsx'
import { type GridSelection, nothingSelected } from '../ui/data-grid/grid-model.ts'
import { EmptyState, NoMatch } from '../ui/empty-state.tsx'
import { useIsPhone } from '../ui/use-media.ts'
import { DeletedNotice } from './deleted-notice.tsx'
import { ListFailure } from './list-failure.tsx'
import { ListHead, type ListViewProps } from './list-head.tsx'
import { isFiltered, type ListState, noFilter, recordFilterOf } from './list-state.ts'
import { cardColumns } from './card.tsx'
import { NewChanges } from './new-changes.tsx'
import { useColumnChanges, useGridColumns } from './use-grid-columns.tsx'
import { useRecordWindow } from './use-record-window.ts'
import styles from './list.module.css'

const BulkBar = lazy(() => import('./bulk-bar.tsx').then((module) => ({ default: module.BulkBar })))
const PeekPanel = lazy(() => import('./peek-panel.tsx').then((module) => ({ default: module.PeekPanel })))

/** Number of skeleton rows until the total is known. */
const skeletonRows = 30

/** The last position in each list, for Back. */
const positions = new Map<string, GridPosition>()
whenForgetting(() => positions.clear())

/** The records of a list in rows, or as cards on phones. */
export function TableView(props: ListViewProps) {
  const { resource, state, onChange: change, onCreate: create } = props
  const t = useTranslations('list')
  const format = useFormatter()
  const labelOf = useLabel()
  const navigate = useNavigate()
  const place = `${resource.name} ${recordFilterOf(resource, state).key}`
  const [selection, setSelection] = useState<GridSelection>(nothingSelected)
  // Records that the list no longer shows are not acted on.
  const [selectedIn, setSelectedIn] = useState(place)
  if (selectedIn !== place) {
    setSelectedIn(place)
    setSelection(nothingSelected)
  }
  const { list, arrivals, isStale } = useRecordWindow(resource, state)
  const position = useGridPosition(`${place} ${state.view}`)
  const gridBox = useRef<HTMLDivElement>(null)
  const latestSelection = useRef(selection)
  useEffect(() => {
    latestSelection.current = selection
  })
  // More records may have been selected during the action.
  const deselect = (ids: ReadonlySet<string>) => {
    const others = new Set([...latestSelection.current.ids].filter((id) => !ids.has(id)))
    setSelection(others.size > 0 ? { ids: others, anchor: undefined } : nothingSelected)
    // The selection bar had the focus and disappears.
    if (others.size === 0)
      requestAnimationFrame(() => gridBox.current?.querySelector<HTMLElement>('[role=grid]')?.focus())
  }
  const open = (id: string) =>
    void navigate({ to: '/$resource/$recordId', params: { resource: resource.name, recordId: id } })
  const isPhone = useIsPhone()
  const gridColumns = useGridColumns(resource, state)
  const columns = isPhone ? cardColumns(resource) : gridColumns
  const columnChanges = useColumnChanges(change)
  const onNeed = useCallback((first: number, last: number) => list.need(first, last), [list])
  const total = list.total
  const count = total === undefined ? undefined : total + (list.arrived ?? 0)
  return (
    <>
      <ListHead
        {...props}
        note={count === undefined ? undefined : t('count', { count, number: format.number(count) })}
      />
      {state.isDeleted && <DeletedNotice days={resource.restorableDays} onClose={() => change({ isDeleted: false })} />}
      <div className={styles.body}>
        <div ref={gridBox} className={classes(styles.gridBox, isStale && styles.stale)}>
          {list.error !== undefined && total === undefined ? (
            <ListFailure
              error={list.error}
              onRetry={() => void list.reload()}
              onClear={() => change({ filters: [], parts: [] })}
            />
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
              recordsKey={`${list.recordsKey} ${state.view}`}
              orderKey={list.orderKey}
              startPosition={position.start}
              // The previous rows do not match the indexes of the ones that are loading.
              onMove={(move) => !isStale && position.store(move)}
              empty={
                total === 0 && (
                  <NothingHere resource={resource} state={state} onCreate={create} onClear={() => change(noFilter)} />
                )
              }
            />
          )}
          <NewChanges
            arrived={isStale ? undefined : list.arrived}
            arrivals={arrivals}
            box={gridBox}
            scroller="[role=grid]"
            top={44}
            isBusy={selection.ids.size > 0}
          />
          {selection.ids.size > 0 && (
            <Suspense>
              <BulkBar resource={resource} selection={selection} isDeleted={state.isDeleted} onDone={deselect} />
            </Suspense>
          )}
        </div>
        {state.peek !== undefined && (
          <Suspense>
            <PeekPanel resource={resource} id={state.peek} onClose={() => change({ peek: undefined }, true)} />
          </Suspense>
        )}
      </div>
    </>
  )
}

/**
 * The initial position of the grid: where the person left it, also if it stayed mounted and Back restored its records;
 * otherwise the top.
 */
function useGridPosition(place: string) {
  const router = useRouter()
  const isReturning = useRef(true)
  useEffect(
    () =>
      router.history.subscribe(({ action: { type } }) => {
        isReturning.current = type === 'BACK' || type === 'FORWARD' || type === 'GO'
      }),
    [router],
  )
  return {
    start: () => (isReturning.current ? positions.get(place) : undefined) ?? top,
    store: (move: Partial<GridPosition>) => positions.set(place, { ...top, ...positions.get(place), ...move }),
  }
}

const top: GridPosition = { offset: 0, active: undefined }

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
  if (isFiltered(state)) return <NoMatch onClear={onClear} />
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

import { ChevronDown, Plus } from 'lucide-react'
import { useCallback, useMemo, useRef, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { Board, type BoardHandle } from '../ui/board/board.tsx'
import type { CardStop } from '../ui/board/board-column.tsx'
import type { BoardColumn, CardPosition } from '../ui/board/board-model.ts'
import { Button } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ListFailure } from '../views/list-failure.tsx'
import { ListHead, type ListViewProps } from '../views/list-head.tsx'
import { NewChanges } from '../views/new-changes.tsx'
import { isFiltered, noFilter, recordFilterOf } from '../views/list-state.ts'
import { resourceIcon } from '../registry/resources.ts'
import { ColumnHead, joinSums } from './column-head.tsx'
import { CardMenu, DealCard } from './deal-card.tsx'
import styles from './deals.module.css'
import { useLostReason } from './lost-reason.tsx'
import { type Deal, type PipelineWithStages, usePipelines } from './records.ts'
import { useBoardData, useMoveOnBoard } from './use-board.ts'

/** Height of a card including the gap below it. */
const rowHeight = 104

/** The deals of a pipeline, one column per stage. */
export function DealsBoard(props: ListViewProps) {
  const { state } = props
  const t = useTranslations('deals')
  const { pipelines, error, refetch } = usePipelines()
  const chosen = pipelines?.find(({ pipeline }) => pipeline.id === state.board) ?? pipelines?.[0]
  if (chosen) return <PipelineBoard {...props} key={chosen.pipeline.id} chosen={chosen} pipelines={pipelines ?? []} />
  return (
    <>
      <ListHead {...props} note={undefined} />
      {error ? (
        <Failure error={error} onRetry={() => void refetch()} />
      ) : (
        pipelines && <EmptyState icon={resourceIcon('deals')} title={t('noPipeline')} text={t('noPipelineText')} />
      )}
    </>
  )
}

interface PipelineBoardProps extends ListViewProps {
  chosen: PipelineWithStages
  pipelines: readonly PipelineWithStages[]
}

function PipelineBoard({ chosen, pipelines, ...list }: PipelineBoardProps) {
  const { resource, state, onChange, onCreate } = list
  const { stages, pipeline } = chosen
  const t = useTranslations('deals')
  const locale = useLocale()
  const board = useRef<BoardHandle>(null)
  const box = useRef<HTMLDivElement>(null)
  const filter = useMemo(() => recordFilterOf(resource, { ...state, isDeleted: false }), [resource, state])
  const { data, isStale } = useBoardData(stages, filter)
  const lostReason = useLostReason()
  const move = useMoveOnBoard(data, stages, lostReason.ask)
  const canMove = resource.permissions.update
  useBoardShortcuts(board, canMove)
  const sums = data.sums ?? []
  const openStages = new Set(stages.filter(({ kind }) => kind === 'open').map(({ id }) => id))
  const open = joinSums(
    sums.filter(({ stageId }) => openStages.has(stageId)),
    'sum',
    locale,
  )
  const columns = stages.map((stage): BoardColumn<Deal> => ({
    id: stage.id,
    title: stage.name,
    head: <ColumnHead stage={stage} sums={data.sums?.filter(({ stageId }) => stageId === stage.id)} />,
    cards: data.dealsIn(stage.id),
    hasMore: data.hasMore(stage.id),
    onNeedMore: () => void data.loadMore(stage.id),
  }))
  const moveAndFocus = (id: string, to: CardPosition) => void move(id, to).then(() => board.current?.focusCard(id))
  const [menu, setMenu] = useState<{ deal: Deal; anchor: Element }>()
  // A stable function, so that unchanged cards do not render again.
  const renderCard = useCallback(
    (deal: Deal, stop: CardStop) => {
      const stage = stages.find(({ id }) => id === deal.stageId)
      const onMenu = (of: Deal, anchor: Element) => setMenu({ deal: of, anchor })
      return stage && <DealCard {...{ deal, stage, stop, canMove, onMenu }} />
    },
    [stages, canMove, setMenu],
  )
  const isEmpty = data.sums?.length === 0
  return (
    <>
      <ListHead {...list} board={pipeline.id} note={data.sums && t('openTotal', { total: open })}>
        {pipelines.length > 1 && (
          <PipelineMenu pipelines={pipelines} current={pipeline.name} onChoose={(id) => onChange({ board: id })} />
        )}
      </ListHead>
      {data.error !== undefined && !data.sums ? (
        <ListFailure
          error={data.error}
          onRetry={() => void data.reload()}
          onClear={() => onChange({ filters: [], parts: [] })}
        />
      ) : isEmpty && isFiltered(state) ? (
        <NoMatch onClear={() => onChange(noFilter)} />
      ) : (
        <div ref={box} className={classes(styles.boardBox, isStale && styles.stale)} aria-busy={!data.sums}>
          <Board
            ref={board}
            label={pipeline.name}
            columns={columns}
            cardsKey={data.cardsKey}
            rowHeight={rowHeight}
            canMove={canMove}
            titleOf={({ name }) => name}
            onMove={moveAndFocus}
            renderCard={renderCard}
          />
          <NewChanges
            arrived={isStale ? undefined : data.arrived}
            arrivals={data.arrivals}
            box={box}
            scroller="[role=group]"
            top={88}
            isBusy={menu !== undefined}
          />
          {isEmpty && (
            <div className={styles.firstDeal}>
              <EmptyState icon={resourceIcon('deals')} title={t('noDeals')} text={t('noDealsText')}>
                {resource.permissions.create && (
                  <Button kind="primary" icon={Plus} onClick={onCreate}>
                    {t('newDeal')}
                  </Button>
                )}
              </EmptyState>
            </div>
          )}
        </div>
      )}
      {menu && (
        <CardMenu
          {...menu}
          stages={stages}
          onMove={({ id }) => moveAndFocus(menu.deal.id, { columnId: id, index: 0 })}
          onClose={() => setMenu(undefined)}
        />
      )}
      {lostReason.dialog}
    </>
  )
}

interface PipelineMenuProps {
  pipelines: readonly PipelineWithStages[]
  current: string
  onChoose(id: string): void
}

function PipelineMenu({ pipelines, current, onChoose }: PipelineMenuProps) {
  const t = useTranslations('deals')
  return (
    <Menu
      trigger={
        <Button aria-label={t('pipelineNamed', { name: current })}>
          {current}
          <ChevronDown size={14} strokeWidth={1.75} aria-hidden />
        </Button>
      }
    >
      {pipelines.map(({ pipeline: { id, name } }) => (
        <MenuItem key={id} disabled={name === current} onSelect={() => onChoose(id)}>
          {name}
        </MenuItem>
      ))}
    </Menu>
  )
}

/** Listed in the help and the palette; the board itself handles these keys. */
function useBoardShortcuts(board: { readonly current: BoardHandle | null }, canMove: boolean): void {
  const t = useTranslations('board')
  const shortcuts = (['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'] as const).map((key) => ({
    keys: `Alt+${key}`,
    label: t(`move${key}`),
    run: () => board.current?.moveActive(key),
  }))
  const others = [
    { keys: 'Space', label: t('pickUp'), run: () => undefined },
    { keys: 'm', label: t('openMenu'), run: () => board.current?.openMenu() },
  ]
  useShortcuts(canMove ? [...others, ...shortcuts] : [])
}

import { useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, ArrowRightLeft } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type RecordData, useResource } from '../api/schema.ts'
import type { Search } from '../api/search.ts'
import type { Entry, EntryKind, Owner } from '../api/timeline.ts'
import { type FoundSuggestions, useNoteSuggestions } from '../suggestions/note-suggestions.tsx'
import { useSuggestionKeys } from '../suggestions/keys.ts'
import { isOpen, type Suggestion } from '../suggestions/suggestion-data.ts'
import { TaskRow } from '../tasks/task-row.tsx'
import { Button } from '../ui/button.tsx'
import { Chip } from '../ui/chip.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { MentionNames } from '../ui/markdown.tsx'
import { withPlainMentions } from '../ui/mentions.ts'
import { VirtualList, type VirtualListHandle } from '../ui/virtual-list.tsx'
import { useAuthor } from '../views/author.ts'
import { ChangeEntry } from './change-entry.tsx'
import { DayTitle } from './day-title.tsx'
import { groupByDay } from './days.ts'
import { durationOf } from '../messages/duration.ts'
import { EntryFrame, type EntryProps } from './entry-frame.tsx'
import { NoteEntry } from './note-entry.tsx'
import { NoteForm } from './note-form.tsx'
import { kindsIn, kindsOf, notesOf, useTimeline } from './timeline-data.ts'
import styles from './timeline.module.css'

export const ContactTimeline = ({ record }: { record: RecordData }) => (
  <Timeline owner={{ resource: 'contacts', id: record.id }} />
)
export const CompanyTimeline = ({ record }: { record: RecordData }) => (
  <Timeline owner={{ resource: 'companies', id: record.id }} />
)
export const DealTimeline = ({ record }: { record: RecordData }) => (
  <Timeline owner={{ resource: 'deals', id: record.id }} currency={String(record.currency)} />
)

/** A record's history by day, newest first; older entries load as the person scrolls. */
function Timeline({ owner, currency }: { owner: Owner; currency?: string }) {
  const t = useTranslations('timeline')
  const mayWrite = useResource('notes')?.permissions.create === true
  const navigate = useNavigate()
  const search: Search = useSearch({ strict: false })
  const kinds = kindsIn(search.kind, owner)
  const show = (next: readonly EntryKind[]) => {
    const { kind: _, ...others } = search
    const changed = next.length > 0 ? { ...others, kind: next.join() } : others
    void navigate({ to: '.', search: changed as never, resetScroll: false })
  }
  const toggle = (kind: EntryKind) =>
    show(kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind])
  return (
    <>
      {mayWrite && <NoteForm owner={owner} />}
      <div className={styles.kinds} role="group" aria-label={t('kindsLabel')}>
        {kindsOf(owner).map((kind) => (
          <Chip key={kind} isPressed={kinds.includes(kind)} onClick={() => toggle(kind)}>
            {t(`kinds.${kind}`)}
          </Chip>
        ))}
      </div>
      <Days owner={owner} kinds={kinds} currency={currency} onShowAll={() => show([])} />
    </>
  )
}

interface DaysProps {
  owner: Owner
  kinds: readonly EntryKind[]
  currency: string | undefined
  onShowAll(): void
}

function Days({ owner, kinds, currency, onShowAll }: DaysProps) {
  const t = useTranslations('timeline')
  const { data, error, refetch, hasNextPage, isFetching, isFetchingNextPage, loadOlder } = useTimeline(owner, kinds)
  const found = useNoteSuggestions(data?.pages.map((page) => notesOf(page.entries)) ?? [])
  const list = useRef<VirtualListHandle>(null)
  const entries = data?.pages.flatMap((page) => page.entries) ?? []
  const items = groupByDay(entries).flatMap(({ day, entries: ofDay }): Item[] => [
    { day },
    ...ofDay.map((entry) => ({ entry })),
  ])
  const hasOpen = ({ entry }: Item) => found.byNote.get(entry?.note?.id ?? '')?.some(isOpen) === true
  useSuggestionKeys(items.some(hasOpen), (step) => {
    const current = Number(document.activeElement?.closest<HTMLElement>('[data-index]')?.dataset.index)
    const next = (step === 1 ? items.findIndex : items.findLastIndex).call(
      items,
      (item, index) => (index - current) * step > 0 && hasOpen(item),
    )
    if (next !== -1) list.current?.focus(next, '[data-suggestion=open]')
  })
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return undefined
  const names = Object.assign({}, found.names, ...data.pages.map((page) => page.names)) as Record<string, string>
  if (entries.length === 0)
    return (
      <p className={styles.soft}>
        {kinds.length === 0 ? t('nothing') : t('noMatch')}{' '}
        {kinds.length > 0 && <Button onClick={onShowAll}>{t('showAll')}</Button>}
      </p>
    )
  return (
    <MentionNames value={names}>
      <VirtualList
        ref={list}
        label={t('entries')}
        items={items}
        keyOf={(item) => (item.entry ? item.entry.id : item.day)}
        textOf={({ entry }) => withPlainMentions(entry?.note?.body ?? '') || (entry?.task?.title ?? '')}
        estimatedHeight={64}
        place={`${owner.id} ${kinds.join()}`}
        renderItem={({ day, entry }, frame) =>
          entry ? (
            <AnyEntry {...{ entry, owner, names, currency, found, frame }} />
          ) : (
            <li {...frame} className={styles.day}>
              <h4 className={styles.dayTitle}>
                <DayTitle day={day} />
              </h4>
            </li>
          )
        }
      />
      {hasNextPage && (
        <Older
          key={entries.length}
          isBusy={isFetchingNextPage}
          mayLoad={!isFetching && error === null}
          onNeeded={() => void loadOlder()}
        />
      )}
    </MentionNames>
  )
}

/** A line of the timeline: the heading of a day, or an entry. */
type Item = { day: string; entry?: undefined } | { day?: undefined; entry: Entry }

const noSuggestions: readonly Suggestion[] = []

function AnyEntry({ found, ...props }: EntryProps & { found: FoundSuggestions }) {
  const { note, task, change, stageMove } = props.entry
  if (note) {
    const suggestions = found.byNote.get(note.id) ?? noSuggestions
    return <NoteEntry {...props} note={note} suggestions={suggestions} intent={found.intents[note.id]} />
  }
  if (task) return <TaskEntry {...props} task={task} />
  if (stageMove) return <StageMoveEntry {...props} move={stageMove} />
  return change && <ChangeEntry {...props} change={change} />
}

function TaskEntry(props: EntryProps & { task: NonNullable<Entry['task']> }) {
  const t = useTranslations('timeline')
  const author = useAuthor(props)
  return (
    <EntryFrame {...props} icon={CircleCheck} sentence={t('addedTask', { author })}>
      <div className={styles.task}>
        <TaskRow task={props.task} assignee={props.names[props.task.assigneeId ?? '']} />
      </div>
    </EntryFrame>
  )
}

function StageMoveEntry(props: EntryProps & { move: NonNullable<Entry['stageMove']> }) {
  const t = useTranslations('timeline')
  const author = useAuthor(props)
  const { fromStageName: from, toStageName: to, secondsInStage } = props.move
  const sentence = t.rich('moved', {
    author,
    from,
    to,
    old: (text) => <span className={styles.old}>{text}</span>,
    new: (text) => <span className={styles.new}>{text}</span>,
  })
  return (
    <EntryFrame {...props} icon={ArrowRightLeft} sentence={sentence}>
      <p className={styles.soft}>{t('stayed', { stage: from, ...durationOf(secondsInStage) })}</p>
    </EntryFrame>
  )
}

interface OlderProps {
  isBusy: boolean
  /** False while the entries are refetched, and after a failure. */
  mayLoad: boolean
  onNeeded(): void
}

/** The end of the loaded entries. Loads more when it comes into view; the button is for keyboards and failures. */
function Older({ isBusy, mayLoad, onNeeded }: OlderProps) {
  const t = useTranslations('timeline')
  const end = useRef<HTMLDivElement>(null)
  const [isVisible, setVisible] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setVisible(entry?.isIntersecting === true))
    if (end.current) observer.observe(end.current)
    return () => observer.disconnect()
  }, [])
  const need = useEffectEvent(onNeeded)
  useEffect(() => {
    if (isVisible && mayLoad) need()
  }, [isVisible, mayLoad])
  return (
    <div ref={end} className={styles.older}>
      <Button kind="quiet" isBusy={isBusy} onClick={onNeeded}>
        {t('older')}
      </Button>
    </div>
  )
}

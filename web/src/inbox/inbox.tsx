import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CheckCheck, Inbox as InboxIcon, Settings2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Names } from '../api/names.ts'
import type { Search } from '../api/search.ts'
import { LaterMessages } from '../messages/later-messages.tsx'
import { DayTitle } from '../timeline/day-title.tsx'
import { groupByDay } from '../timeline/days.ts'
import { Button, buttonClasses } from '../ui/button.tsx'
import { Segments } from '../ui/chip.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { Keys } from '../ui/keys.tsx'
import { PageBar, PageContent } from '../ui/page.tsx'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { useNotifyFailure } from '../ui/toast.tsx'
import { EntryRow } from './entry-row.tsx'
import { entriesQuery, type InboxEntry, type InboxPage, isUnreadOnly, markAllRead } from './inbox-data.ts'
import styles from './inbox.module.css'
import { unreadCountQuery } from './unread-count.ts'

/** What concerns the person, newest first. The address says whether all entries or only unread ones are shown. */
export function Inbox() {
  const search: Search = useSearch({ strict: false })
  const unreadOnly = isUnreadOnly(search)
  return (
    <LaterMessages>
      <Entries key={String(unreadOnly)} unreadOnly={unreadOnly} />
    </LaterMessages>
  )
}

function Entries({ unreadOnly }: { unreadOnly: boolean }) {
  const t = useTranslations('inbox')
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    entriesQuery(unreadOnly),
  )
  const count = useQuery(unreadCountQuery).data ?? 0
  const list = useRef<HTMLDivElement>(null)
  const all = data?.pages.flatMap((page) => page.entries) ?? []
  const { shown, newCount, showNew } = useShown(all)
  const [newest] = shown
  const focusFirst = () => requestAnimationFrame(() => entryElements(list.current)[0]?.focus())
  return (
    <>
      <PageBar title={t('title')} {...(count > 0 && { note: t('unreadCount', { count }) })}>
        {newCount > 0 && <Button onClick={() => (showNew(), focusFirst())}>{t('showNew', { count: newCount })}</Button>}
        {newest && count > 0 && <MarkAll newest={newest} />}
        <Link to="/inbox/settings" className={buttonClasses('quiet')} aria-label={t('settings')}>
          <Settings2 size={15} strokeWidth={1.75} aria-hidden />
          <span className={styles.settingsText}>{t('settings')}</span>
        </Link>
      </PageBar>
      <PageContent>
        <Filter unreadOnly={unreadOnly} hasEntries={shown.length > 0} />
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {data && shown.length === 0 && <Nothing unreadOnly={unreadOnly} />}
        {data && shown.length > 0 && (
          <div ref={list} className={styles.days}>
            <Days entries={shown} pages={data.pages} />
          </div>
        )}
        {hasNextPage && (
          <div className={styles.more}>
            <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              {t('older')}
            </Button>
          </div>
        )}
      </PageContent>
    </>
  )
}

/** Entries that arrive while the page is open would move what the person is reading: they wait for a click. */
function useShown(all: readonly InboxEntry[]) {
  const [until, setUntil] = useState<string>()
  const first = all[0]?.createdAt
  if (until === undefined && first !== undefined) setUntil(first)
  const shown = all.filter(({ createdAt }) => until === undefined || createdAt <= until)
  return { shown, newCount: all.length - shown.length, showNew: () => setUntil(first) }
}

function MarkAll({ newest }: { newest: InboxEntry }) {
  const t = useTranslations('inbox')
  const notifyFailure = useNotifyFailure()
  const [isBusy, setBusy] = useState(false)
  const mark = () => {
    setBusy(true)
    void markAllRead(newest)
      .catch(notifyFailure)
      .finally(() => setBusy(false))
  }
  return (
    <Button icon={CheckCheck} isBusy={isBusy} onClick={mark}>
      {t('markAll')}
    </Button>
  )
}

function Filter({ unreadOnly, hasEntries }: { unreadOnly: boolean; hasEntries: boolean }) {
  const t = useTranslations('inbox')
  const navigate = useNavigate()
  const show = (value: 'all' | 'unread') =>
    void navigate({ to: '/inbox', search: (value === 'unread' ? { show: value } : {}) as never })
  return (
    <div className={styles.filter}>
      <Segments
        label={t('show')}
        options={[
          { value: 'all', label: t('all') },
          { value: 'unread', label: t('unread') },
        ]}
        value={unreadOnly ? 'unread' : 'all'}
        onChange={show}
      />
      {hasEntries && (
        <p className={styles.hint}>
          <Keys keys="j" /> <Keys keys="k" /> {t('keysMove')}
        </p>
      )}
    </div>
  )
}

function Nothing({ unreadOnly }: { unreadOnly: boolean }) {
  const t = useTranslations('inbox')
  return unreadOnly ? (
    <EmptyState icon={InboxIcon} title={t('nothingUnread')} text={t('nothingUnreadText')} />
  ) : (
    <EmptyState icon={InboxIcon} title={t('nothing')} text={t('nothingText')} />
  )
}

const entryElements = (within: Element | null): HTMLElement[] => [
  ...(within?.querySelectorAll<HTMLElement>('[data-entry] :is(a, button)') ?? []),
]

/** `j` and `k` move the focus between entries. */
function useEntryKeys(): void {
  const t = useTranslations('inbox')
  const go = (step: 1 | -1) => {
    const entries = [...document.querySelectorAll('[data-entry]')]
    const current = entries.findIndex((entry) => entry.contains(document.activeElement))
    const target = entries[current === -1 ? 0 : current + step]
    const [first] = target ? entryElements(target.parentElement).filter((one) => target.contains(one)) : []
    first?.focus()
    first?.scrollIntoView({ block: 'nearest' })
  }
  useShortcuts([
    { keys: 'j', label: t('next'), run: () => go(1) },
    { keys: 'k', label: t('previous'), run: () => go(-1) },
  ])
}

function Days({ entries, pages }: { entries: readonly InboxEntry[]; pages: readonly InboxPage[] }) {
  useEntryKeys()
  const names = Object.assign({}, ...pages.map((page) => page.names)) as Names
  const places = Object.assign({}, ...pages.map((page) => page.places)) as InboxPage['places']
  return groupByDay(entries).map(({ day, entries: ofDay }) => (
    <section key={day} className={styles.day}>
      <h2 className={styles.dayTitle}>
        <DayTitle day={day} />
      </h2>
      <ul className={styles.list}>
        {ofDay.map((entry) => (
          <EntryRow key={entry.id} entry={entry} names={names} place={places[entry.recordId]} />
        ))}
      </ul>
    </section>
  ))
}

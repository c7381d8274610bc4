import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Lightbulb, Lock, RefreshCw } from 'lucide-react'
import { createElement } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { LaterMessages } from '../messages/later-messages.tsx'
import { resourceIcon } from '../registry/resources.ts'
import type { Names } from '../api/names.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { Keys } from '../ui/keys.tsx'
import { PageBar, PageContent } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { excerptOf } from './excerpt.ts'
import { useSuggestionKeys } from './keys.ts'
import { nameOf, useMayRead } from './sentences.ts'
import { SuggestionCard } from './suggestion-card.tsx'
import { pendingCountQuery } from './pending-count.ts'
import { type InboxItem, inboxQuery, newestQuery, recordOf } from './suggestion-data.ts'
import styles from './suggestions.module.css'

/** The pending suggestions, to work through one by one. */
export function Suggestions() {
  return (
    <LaterMessages>
      <Page />
    </LaterMessages>
  )
}

function Page() {
  const t = useTranslations('suggestions')
  const common = useTranslations('common')
  if (useMayRead()) return <Inbox />
  return (
    <>
      <PageBar title={t('title')} />
      <EmptyState icon={Lock} title={common('noPermission')} text={common('noPermissionText')} />
    </>
  )
}

function Inbox() {
  const t = useTranslations('suggestions')
  const format = useFormatter()
  const inbox = useInfiniteQuery(inboxQuery)
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = inbox
  const count = useQuery(pendingCountQuery).data
  const newest = useQuery(newestQuery).data ?? undefined
  const items = data?.pages.flatMap((page) => page.items) ?? []
  const names = Object.assign({}, ...(data?.pages.map((page) => page.names) ?? [])) as Names
  const first = items[0]?.suggestion
  // Inserting new suggestions at once would move what the person is reading.
  const hasNew = data !== undefined && newest !== undefined && newest.id !== first?.id && isAfter(newest, first)
  useSuggestionKeys(items.length > 0)
  return (
    <>
      <PageBar title={t('title')} {...(count !== undefined && { note: format.number(count) })}>
        {hasNew && (
          <Button icon={RefreshCw} onClick={() => void refetch()}>
            {t('showNew')}
          </Button>
        )}
      </PageBar>
      <PageContent>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {data && items.length === 0 && <EmptyState icon={Lightbulb} title={t('nothing')} text={t('nothingText')} />}
        {items.length > 0 && (
          <>
            <p className={styles.hint}>
              <Keys keys="j" /> <Keys keys="k" /> {t('keysMove')}
            </p>
            <ul className={styles.inbox} aria-label={t('title')}>
              {items.map((item) => (
                <li key={item.suggestion.id}>
                  <Item item={item} names={names} />
                </li>
              ))}
            </ul>
          </>
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

const isAfter = (one: { createdAt: string }, other: { createdAt: string } | undefined): boolean =>
  other === undefined || one.createdAt >= other.createdAt

function Item({ item: { suggestion, note }, names }: { item: InboxItem; names: Names }) {
  const { resource, id } = recordOf(suggestion)
  const { before, words, after } = excerptOf(note, suggestion.evidence)
  return (
    <SuggestionCard
      suggestion={suggestion}
      names={names}
      movesOn
      evidence={
        <blockquote className={styles.quote}>
          {before}
          <mark>{words}</mark>
          {after}
        </blockquote>
      }
    >
      <p className={styles.record}>
        <Link to="/$resource/$recordId" params={{ resource, recordId: id }} className={styles.recordLink}>
          {createElement(resourceIcon(resource), { size: 13, strokeWidth: 1.75, 'aria-hidden': true })}
          <span className="truncate">{nameOf(suggestion, names) ?? id}</span>
        </Link>
        <Time value={suggestion.createdAt} />
      </p>
    </SuggestionCard>
  )
}

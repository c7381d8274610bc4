import { Link } from '@tanstack/react-router'
import { ChevronRight } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { CopyRequest } from '../ui/copy-request.tsx'
import { PageContent, Panel } from '../ui/page.tsx'
import { Avatar } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { type Actors, useActors } from './actors.ts'
import { useActions } from './audit-actions.ts'
import { AuditFilters } from './audit-filters.tsx'
import styles from './audit-log.module.css'
import { useGoTo, useSectionSearch } from './location.ts'
import { Paged, usePages } from './paged.tsx'
import type { AuditEvent } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import { useSentence } from './sentences.ts'
import settings from './settings.module.css'

const path = '/v5/audit-log'

/** The events of the organization, newest first. The URL has the API's filters and the open event. */
export function AuditLog() {
  const t = useTranslations('settings.audit')
  const goTo = useGoTo()
  const search = useSectionSearch()
  const filters = filtersOf(search)
  const pages = usePages<AuditEvent>(path, filters, { pageSize: 50 })
  return (
    <>
      <SectionBar title={t('title')} />
      <PageContent isNarrow>
        <AuditFilters filters={filters} onChange={(next) => goTo('audit-log', next)} />
        <Panel title={t('events')} actions={<CopyRequest path={path} query={filters} />}>
          <Paged pages={pages} empty={t('empty')}>
            {(events) => (
              <EventList
                events={events}
                openId={search.event}
                onToggle={(event) => goTo('audit-log', { ...filters, ...(event && { event }) }, { replace: true })}
              />
            )}
          </Paged>
        </Panel>
      </PageContent>
    </>
  )
}

const filtersOf = (search: ReturnType<typeof useSectionSearch>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      name.startsWith('filter.') && value !== undefined ? [[name, value]] : [],
    ),
  )

interface EventListProps {
  events: readonly AuditEvent[]
  openId: string | undefined
  onToggle(id: string | undefined): void
}

function EventList({ events, openId, onToggle }: EventListProps) {
  const t = useTranslations('settings.audit')
  const actors = useActors(events.flatMap(({ actorId }) => actorId ?? []))
  return (
    <ul aria-label={t('events')}>
      {events.map((event) => (
        <EventRow
          key={event.id}
          event={event}
          actors={actors}
          isOpen={event.id === openId}
          onToggle={() => onToggle(event.id === openId ? undefined : event.id)}
        />
      ))}
    </ul>
  )
}

interface EventRowProps {
  event: AuditEvent
  actors: Actors
  isOpen: boolean
  onToggle(): void
}

function EventRow({ event, actors, isOpen, onToggle }: EventRowProps) {
  const id = useId()
  const sentence = useSentence()
  const description = useActions().find(({ action }) => action === event.action)?.description ?? event.action
  const actor = useActorName(event, actors)
  return (
    <li className={styles.event}>
      <button type="button" className={styles.head} aria-expanded={isOpen} aria-controls={id} onClick={onToggle}>
        <ChevronRight size={14} className={styles.chevron} aria-hidden />
        <Avatar name={actor} isSquare={event.actorKind !== 'user'} />
        <span className={styles.text}>
          <span className={styles.sentence}>{sentence(description)}</span>
          <span className={settings.soft}>{actor}</span>
        </span>
        <span className={styles.time}>
          <Time value={event.createdAt} />
        </span>
      </button>
      <div id={id} hidden={!isOpen}>
        {isOpen && <EventDetails event={event} actor={actor} />}
      </div>
    </li>
  )
}

function useActorName({ actorId, actorKind }: AuditEvent, actors: Actors): string {
  const t = useTranslations('settings.audit')
  const name = actorId === null ? undefined : actors[actorId]
  return name ?? t(`actorKinds.${actorKind}`)
}

function EventDetails({ event, actor }: { event: AuditEvent; actor: string }) {
  const t = useTranslations('settings.audit')
  const format = useFormatter()
  const { createdAt, action, actorId, recordId, address, requestId, details } = event
  return (
    <dl className={styles.facts}>
      <Fact name={t('when')}>{format.dateTime(new Date(createdAt), { dateStyle: 'full', timeStyle: 'long' })}</Fact>
      <Fact name={t('action')}>{action}</Fact>
      <Fact name={t('actor')}>{actorId === null ? actor : `${actor} (${actorId})`}</Fact>
      <Fact name={t('record')}>{recordId && <RecordLink recordId={recordId} />}</Fact>
      <Fact name={t('address')}>{address}</Fact>
      <Fact name={t('request')}>{requestId}</Fact>
      <Fact name={t('details')}>{detailsOf(details)}</Fact>
    </dl>
  )
}

/** Renders nothing without a value. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null) return null
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** A link to all events of the record. */
const RecordLink = ({ recordId }: { recordId: string }) => (
  <Link
    to="/settings/$section"
    params={{ section: 'audit-log' }}
    search={{ 'filter.recordId.equals': recordId }}
    className={styles.record}
  >
    {recordId}
  </Link>
)

/** One line per detail: `fields: name, timeZone`. */
function detailsOf(details: unknown): string | null {
  if (typeof details !== 'object' || details === null) return null
  const lines = Object.entries(details).map(([name, value]) => `${name}: ${textOf(value)}`)
  return lines.length > 0 ? lines.join('\n') : null
}

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(textOf).join(', ') : typeof value === 'string' ? value : JSON.stringify(value)

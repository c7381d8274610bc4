import { lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import type { RecordData } from '../api/schema.ts'
import type { Search } from '../api/search.ts'
import type { Owner } from '../api/timeline.ts'
import type { TaskSubject } from '../tasks/task-data.ts'
import type { RecordParts, RecordSection } from '../views/record-page.tsx'

interface LoadedSection extends RecordSection {
  /** Loads what it shows before the page appears, so that it pushes nothing down. */
  load?(recordId: string, search: Search): Promise<unknown>
}

type Named<Name extends string> = Record<Name, ComponentType<{ record: RecordData }>>

const tasks = (
  name: 'ContactTasks' | 'CompanyTasks' | 'DealTasks',
  subjectOf: (id: string) => TaskSubject,
): LoadedSection => ({
  title: 'tasks',
  content: lazyRouteComponent<Named<typeof name>, typeof name>(() => import('../tasks/record-tasks.tsx'), name),
  load: (id) => import('../tasks/record-tasks.tsx').then(({ loadTasks }) => loadTasks(subjectOf(id))),
})

/** The record's timeline. It comes last, because it has no end. */
const timeline = (
  name: 'ContactTimeline' | 'CompanyTimeline' | 'DealTimeline',
  resource: Owner['resource'],
): LoadedSection => ({
  title: 'timeline',
  content: lazyRouteComponent<Named<typeof name>, typeof name>(() => import('../timeline/timeline.tsx'), name),
  load: (id, { kind }) =>
    import('../timeline/timeline-data.ts').then(({ loadTimeline }) => loadTimeline({ resource, id }, kind)),
})

/** The additional parts of record pages, by resource, in their order. */
export const recordSections: Readonly<Record<string, readonly LoadedSection[]>> = {
  contacts: [
    tasks('ContactTasks', (contactId) => ({ contactId })),
    {
      title: 'deals',
      isAside: true,
      content: lazyRouteComponent(() => import('../deals/deals-of.tsx'), 'ContactDeals'),
      load: (id) => import('../deals/deals-of.tsx').then(({ loadContactDeals }) => loadContactDeals(id)),
    },
    {
      title: 'addresses',
      isAside: true,
      content: lazyRouteComponent(() => import('./contacts/addresses.tsx'), 'Addresses'),
    },
    {
      title: 'employments',
      isAside: true,
      content: lazyRouteComponent(() => import('./contacts/employments.tsx'), 'Employments'),
      load: (id) => import('./contacts/employments.tsx').then(({ loadEmployments }) => loadEmployments(id)),
    },
    timeline('ContactTimeline', 'contacts'),
  ],
  companies: [
    tasks('CompanyTasks', (companyId) => ({ companyId })),
    {
      title: 'people',
      isAside: true,
      content: lazyRouteComponent(() => import('./companies/people.tsx'), 'People'),
      load: (id) => import('./companies/people.tsx').then(({ loadPeople }) => loadPeople(id)),
    },
    {
      title: 'deals',
      isAside: true,
      content: lazyRouteComponent(() => import('../deals/deals-of.tsx'), 'CompanyDeals'),
      load: (id) => import('../deals/deals-of.tsx').then(({ loadCompanyDeals }) => loadCompanyDeals(id)),
    },
    timeline('CompanyTimeline', 'companies'),
  ],
  deals: [
    {
      title: 'stage',
      content: lazyRouteComponent(() => import('../deals/stage-path.tsx'), 'StagePath'),
      load: (id) => import('../deals/section-data.ts').then(({ loadSections }) => loadSections(id)),
    },
    tasks('DealTasks', (dealId) => ({ dealId })),
    {
      title: 'contacts',
      isAside: true,
      content: lazyRouteComponent(() => import('../deals/deal-contacts.tsx'), 'DealContacts'),
    },
    timeline('DealTimeline', 'deals'),
  ],
  tasks: [{ title: 'text', content: lazyRouteComponent(() => import('../tasks/task-text.tsx'), 'TaskText') }],
}

/** Buttons in the bar of record pages, by resource. */
export const recordActions: RecordParts['actions'] = {
  deals: lazyRouteComponent(() => import('../deals/deal-actions.tsx'), 'DealActions'),
}

export const recordErasures: RecordParts['erasures'] = {
  contacts: {
    scope: { resource: 'contact-erasure', action: 'create', permission: 'write', guarded: true },
    dialog: lazyRouteComponent(() => import('./contacts/erase.tsx'), 'EraseContact'),
  },
}

/** Loads the code of the sections, so that they appear together with the page. */
export const preloadSections = (resource: string, recordId: string, search: Search): Promise<unknown> =>
  Promise.all([
    ...(recordSections[resource] ?? []).flatMap(({ content, load }) => [content.preload?.(), load?.(recordId, search)]),
    recordActions[resource]?.preload?.(),
  ])

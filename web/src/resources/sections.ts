import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'
import type { RecordData } from '../api/schema.ts'

/** A part of a record's page that does not follow from the description of the resource. */
export interface RecordSection {
  /** Key of its title in the messages of records. */
  title: 'employments' | 'notes' | 'people' | 'deals' | 'stage' | 'contacts' | 'history'
  /** Loaded with the first page that shows it. */
  content: AsyncRouteComponent<{ record: RecordData }>
  /** Loads what it shows before the page appears, so that it pushes nothing down. */
  load?(recordId: string): Promise<unknown>
}

/** The additional parts of record pages, by resource, in their order. */
export const recordSections: Readonly<Record<string, readonly RecordSection[]>> = {
  contacts: [
    {
      title: 'notes',
      content: lazyRouteComponent(() => import('./contacts/notes.tsx'), 'Notes'),
      load: (id) => import('./contacts/notes.tsx').then(({ loadNotes }) => loadNotes(id)),
    },
    {
      title: 'employments',
      content: lazyRouteComponent(() => import('./contacts/employments.tsx'), 'Employments'),
      load: (id) => import('./contacts/employments.tsx').then(({ loadEmployments }) => loadEmployments(id)),
    },
    {
      title: 'deals',
      content: lazyRouteComponent(() => import('./deals/deals-of.tsx'), 'ContactDeals'),
      load: (id) => import('./deals/deals-of.tsx').then(({ loadContactDeals }) => loadContactDeals(id)),
    },
  ],
  companies: [
    {
      title: 'people',
      content: lazyRouteComponent(() => import('./companies/people.tsx'), 'People'),
      load: (id) => import('./companies/people.tsx').then(({ loadPeople }) => loadPeople(id)),
    },
    {
      title: 'deals',
      content: lazyRouteComponent(() => import('./deals/deals-of.tsx'), 'CompanyDeals'),
      load: (id) => import('./deals/deals-of.tsx').then(({ loadCompanyDeals }) => loadCompanyDeals(id)),
    },
  ],
  deals: [
    {
      title: 'stage',
      content: lazyRouteComponent(() => import('./deals/stage-path.tsx'), 'StagePath'),
      load: (id) => import('./deals/section-data.ts').then(({ loadSections }) => loadSections(id)),
    },
    { title: 'contacts', content: lazyRouteComponent(() => import('./deals/deal-contacts.tsx'), 'DealContacts') },
    { title: 'history', content: lazyRouteComponent(() => import('./deals/stage-history.tsx'), 'StageHistory') },
  ],
}

/** Buttons in the bar of record pages, by resource. */
export const recordActions: Readonly<Record<string, RecordSection['content']>> = {
  deals: lazyRouteComponent(() => import('./deals/deal-actions.tsx'), 'DealActions'),
}

/** Loads the code of the parts, so that they appear with the rest of the page. */
export const preloadSections = (resource: string, recordId: string): Promise<unknown> =>
  Promise.all([
    ...(recordSections[resource] ?? []).flatMap(({ content, load }) => [content.preload?.(), load?.(recordId)]),
    recordActions[resource]?.preload?.(),
  ])

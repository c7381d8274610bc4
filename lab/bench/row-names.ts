import { UsageError } from '../shared/command.ts'
import { scores, tiers } from './records.ts'

/** All rows, in the order of the table. */
export const rowNames = {
  one: 'get one',
  page: 'first page of 25',
  deep: 'deep page',
  deepByLink: 'deep page, by Link',
  email: 'filter by email',
  property: 'custom property of one',
  commonProperty: `custom property of 1 in ${scores}`,
  rare: 'contains, rare',
  common: 'contains, common',
  absent: 'contains, absent',
  query: 'query',
  sorted: 'sort by last name',
  counted: 'count with a filter',
  countedUnindexed: 'count by an unindexed field',
  board: 'column of the board',
  summary: 'summary of deals',
  timeline: 'timeline of a contact',
  created: 'create',
  createdWithCompany: 'create with a company',
  changed: 'change',
  moved: 'move of a deal',
  createHistory: 'history of new contacts',
  changeHistory: 'history of edits',
  reachOne: 'reach of all: read',
  reachPage: 'reach of all: list',
  reachChange: 'reach of all: write',
  reachOwn: 'reach of own: list',
  reachTeam: 'reach of teams: list',
  indexed: `indexed property of 1 in ${scores}`,
  indexedRange: `range of an indexed property, 1 in ${scores}`,
  indexedOrder: 'sort by an indexed property',
  indexedCount: `count of 1 in ${tiers} by an indexed property`,
  indexedCreated: 'new contacts with two indexed properties',
  indexedChanged: 'edits of an indexed property',
  notesAnalysed: 'notes analysed',
  accepted: 'suggestions accepted',
  pushed: 'push',
  processed: 'rows processed',
  processedOfTwo: 'rows processed, of two organizations',
  busy: 'push, while rows are processed',
  delivered: 'webhook deliveries',
  nextToReads: 'read, next to 64 connections of another organization',
  nextToNotes: 'read, while notes of another organization are read',
  nextToWebhooks: 'read, while webhooks are sent',
  interactions: 'interactions with the application',
} as const

/** The read rows. */
export const readNames: readonly string[] = [
  rowNames.one,
  rowNames.page,
  rowNames.deep,
  rowNames.deepByLink,
  rowNames.email,
  rowNames.property,
  rowNames.commonProperty,
  rowNames.rare,
  rowNames.common,
  rowNames.absent,
  rowNames.query,
  rowNames.sorted,
  rowNames.counted,
  rowNames.countedUnindexed,
  rowNames.board,
  rowNames.summary,
  rowNames.timeline,
]

/** Rows that compare a custom role with a built-in one. */
export const reachNames: readonly string[] = [
  rowNames.reachOne,
  rowNames.reachPage,
  rowNames.reachChange,
  rowNames.reachOwn,
  rowNames.reachTeam,
]

/** Rows about the suggestions of notes. */
export const suggestionNames: readonly string[] = [rowNames.notesAnalysed, rowNames.accepted]

/** Rows that compare an organization's response times next to a busy one with those alone. */
export const tenantNames: readonly string[] = [rowNames.nextToReads, rowNames.nextToNotes, rowNames.nextToWebhooks]

/** The read rows of indexed properties. */
export const indexedReadNames: readonly string[] = [
  rowNames.indexed,
  rowNames.indexedRange,
  rowNames.indexedOrder,
  rowNames.indexedCount,
]

/**
 * Rows whose name contains one of the texts; without texts, all rows. Errors: `UsageError` if no name contains a text.
 */
export function rowsWith(texts: readonly string[]): string[] {
  const names = Object.values(rowNames)
  for (const text of texts) {
    if (!names.some((name) => name.includes(text))) throw new UsageError(`No row name contains "${text}".`)
  }
  return names.filter((name) => texts.length === 0 || texts.some((text) => name.includes(text)))
}

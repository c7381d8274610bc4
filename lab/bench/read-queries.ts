import { encodeId } from '../../server/src/platform/model/ids.ts'
import type { Depth } from './depth.ts'
import { absentFragment, firstNames, lastNames, cities, Random } from './people.ts'
import { scores } from './records.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'

/** A row of reads: the requests, and what every response must contain. */
export interface ReadQuery {
  name: string
  /** Paths with queries, requested in turn. */
  targets: readonly string[]
  /** Minimum and maximum number of records in a response; undefined if it is not a list. */
  records: readonly [min: number, max: number] | undefined
  /** For rows about an index: the database must use one of these. */
  indexes?: readonly string[]
}

const pageSize = 25

/** The read rows, in the order of the table. */
export function readQueries(sample: Sample, depth: Depth): ReadQuery[] {
  const list = (query: string) => `/v5/contacts?${query}`
  const full = Math.min(pageSize, sample.contacts)
  // Among few contacts, there may be none with a common value.
  const common = sample.contacts >= 10_000 ? pageSize : 0
  const contains = (fragment: string) => list(`filter.name.contains=${encodeURIComponent(fragment)}`)
  const searchIndex = ['contacts_search']
  const random = new Random(7)
  return [
    { name: rowNames.one, targets: sample.ids.map((id) => `/v5/contacts/${encodeId('con', id)}`), records: undefined },
    { name: rowNames.page, targets: ['/v5/contacts'], records: [full, full] },
    {
      name: rowNames.deep,
      targets: depth.ids.map((id) => list(`startingAfter=${id}`)),
      records: [1, pageSize],
      indexes: ['contacts_created'],
    },
    {
      name: rowNames.deepByLink,
      targets: depth.cursors.map((cursor) => list(`startingAfter=${cursor}`)),
      records: [1, pageSize],
      indexes: ['contacts_created'],
    },
    {
      name: rowNames.email,
      targets: sample.emails.slice(0, 500).map((email) => list(`filter.email.equals=${encodeURIComponent(email)}`)),
      records: [1, 1],
      indexes: ['contacts_email_unique', 'contacts_email'],
    },
    {
      name: rowNames.property,
      targets: sample.customerNumbers.map((number) => list(`filter.customProperties.customerNumber.equals=${number}`)),
      records: [1, 1],
      indexes: ['contacts_properties'],
    },
    {
      name: rowNames.commonProperty,
      targets: range(scores, (score) => list(`filter.customProperties.score.equals=${score}`)),
      records: [common, pageSize],
      indexes: ['contacts_properties'],
    },
    {
      name: rowNames.rare,
      targets: sample.rareNames.map((name) => contains(name.slice(1, -1))),
      records: [1, pageSize],
      indexes: searchIndex,
    },
    {
      name: rowNames.common,
      targets: [...firstNames, ...lastNames].map((name) => contains(name.slice(0, 4))),
      records: [common, pageSize],
      indexes: [...searchIndex, 'contacts_created'],
    },
    {
      name: rowNames.absent,
      targets: range(100, () => contains(absentFragment(random))),
      records: [0, 0],
      indexes: searchIndex,
    },
    {
      name: rowNames.query,
      targets: sample.names.map((name) => list(`query=${encodeURIComponent(name)}`)),
      records: [1, pageSize],
      indexes: searchIndex,
    },
    {
      name: rowNames.sorted,
      targets: [
        ...['asc', 'desc'].map((sort) => list(`orderBy=lastName&sort=${sort}`)),
        ...sample.ids.slice(0, 100).map((id) => list(`orderBy=lastName&sort=asc&startingAfter=${encodeId('con', id)}`)),
      ],
      records: [0, pageSize],
    },
    { name: rowNames.counted, targets: range(scores, countWith), records: undefined },
    { name: rowNames.countedUnindexed, targets: cities.map(countIn), records: undefined },
    ...dealQueries(sample),
  ]
}

/** Rows about deals and histories. */
const dealQueries = (sample: Sample): ReadQuery[] => [
  {
    name: rowNames.board,
    targets: sample.deals.map(({ id, stageId }) => {
      const column = `/v5/deals?stageId=${encodeId('stg', stageId)}&orderBy=position&sort=asc`
      return `${column}&startingAfter=${encodeId('del', id)}`
    }),
    records: [0, pageSize],
  },
  {
    name: rowNames.summary,
    targets: range(20, (index) => `/v5/deals/summary?filter.amount.gte=${index * 100}`),
    records: undefined,
  },
  {
    name: rowNames.timeline,
    targets: sample.withHistory.map((id) => `/v5/contacts/${encodeId('con', id)}/timeline`),
    records: [pageSize, pageSize],
  },
]

/** A count reads everything that it counts, so many concurrent counts of a more common value would time out. */
const countWith = (score: number): string => `/v5/contacts/count?filter.customProperties.score.equals=${score}`

const countIn = (city: string): string => `/v5/contacts/count?filter.city.equals=${encodeURIComponent(city)}`

const range = <Item>(length: number, create: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, index) => create(index))

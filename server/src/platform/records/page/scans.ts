import { join, Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { afterBoundary, type Boundary, boundaryFromText, type Order, orderClause } from './order.ts'
import type { Cursor } from './parse.ts'
import type { PageColumns } from './select.ts'
import { root } from '../filter/target.ts'

/** Entries of an index, joined with their records, that replace the table in scans. */
export interface EntrySource {
  table: Sql
  within: Sql
  /** The filters that the entries do not serve, or undefined. */
  filters: Sql | undefined
}

/** What a page is read from, as parts of a statement. */
export interface PageSource {
  table: Sql
  joins: Sql
  /** The columns that the page needs of a found record; the others are not carried along. */
  carried: PageColumns
  /** The organization and the other bounds of the list. */
  within: Sql
  /** The same with the bounds of the reader's reach, if those are among the filters. */
  reached: Sql
  /** The same for records that the filters' index finds. */
  matched: Sql
  /** Filters and search words, or undefined. */
  filters: Sql | undefined
  /** True if one index finds the matches and another gives the order, in which the planner cannot locate them. */
  scanInOrderFirst: boolean
  /** True if about 1 % may match: a second, longer scan follows. Not for text searches, which it would slow down. */
  extendScan: boolean
  /** Entries of the matches, to be read instead of the table. */
  scanned?: EntrySource
  /** Entries in the page's order, of all records with a sort value or of the matches. */
  inOrder?: Partial<EntrySource> & Pick<EntrySource, 'table' | 'within'> & OrderedColumns
  /** Entries of the matches, if the beginning of the order has too few of them. */
  found?: EntrySource & { first?: FirstEntries }
}

interface OrderedColumns {
  keys: readonly Sql[]
  id: Sql
  /** Their values, from the sort keys of a record. */
  keysOf: (keys: readonly Sql[]) => readonly Sql[]
}

/** The entries of a page without further matches; nothing else has to be known of their records. */
interface FirstEntries extends OrderedColumns {
  table: (condition: Sql, clause: Sql, take: Sql) => Sql
}

export interface PageRequest {
  order: Order
  cursor: Cursor | undefined
  limit: number
}

/** Whether the matches are fetched through their index; its table is part of the page. */
export const isIndexUsed = raw('(select use_index from decision)')

/** Number of records to scan in order before the matches are fetched through their index. */
const scanLength = raw('2000')
/** The same if the first matches are found in an index without reading records. */
const shortScanLength = raw('500')
/** If at least this many of them match, the page is probably within the next ones, which are then scanned first. */
const minPromisingMatches = raw('4')
const secondScanLength = raw('20000')

const highest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const lowest = '00000000-0000-0000-0000-000000000000'

const rootId = sql`${raw(root)}.id`

/** The names of the sort keys in the common table expressions. */
export const keyNamesOf = (order: Order): Sql[] => order.keys.map((_, index) => raw(`key_${index}`))

/** `boundary`: the sort keys of the cursor's record, read in the same statement. */
export function boundarySql({ table, joins, reached }: PageSource, { order, cursor }: PageRequest): Sql {
  if (!cursor || !('id' in cursor.at)) return raw('')
  return sql`boundary as materialized (
    select ${keyColumns(order)}, ${rootId} as id
    from ${table}${joins} where ${reached} and ${rootId} = ${cursor.at.id}::uuid), `
}

/** `page`: at most one record more than requested, numbered in the reading direction, each with their total. */
export function pageSql(source: PageSource, request: PageRequest): Sql {
  const { order, cursor } = request
  const backwards = cursor?.direction === 'before'
  const clause = orderClause(keyNamesOf(order), raw('id'), isDescending(request))
  // If every record has a value, the scan's order is the page's order, so that it is not sorted again.
  const absence = order.absent ? raw(backwards ? 'absent desc, ' : 'absent, ') : raw('')
  const orderBy = sql`order by ${absence}${clause}`
  const { tables, found } =
    source.scanInOrderFirst && source.filters
      ? scanThenUseIndex(source, source.filters, request)
      : scan(source, request)
  return sql`${tables ? sql`${tables}, ` : raw('')}page as (
    select *, row_number() over (${orderBy}) as page_position, count(*) over () as page_total from (${found}) found)`
}

interface Found {
  tables: Sql | undefined
  /** The found records, at most one too many from each scan. */
  found: Sql
}

/** The planner chooses the indexes. */
function scan(source: PageSource, request: PageRequest): Found {
  const { joins, carried } = source
  const select = ({ table, within, filters, condition, clause, take }: Scan) =>
    sql`select ${carried.read}, ${keyColumns(request.order)} from ${table}${joins}
      where ${join(filters ? [within, filters] : [within], ' and ')} and ${condition} order by ${clause} limit ${take}`
  const [only, ...others] = scansOf(source, request)
  // Read in place: nothing is materialized, and the order is known to be right already.
  if (only && others.length === 0) return { tables: undefined, found: select(only) }
  return sequentialScans(
    'scan',
    [only, ...others].filter((one) => one !== undefined),
    [],
    select,
  )
}

/**
 * First scans the beginning of the order: this suffices if matches are common or the list is short. Otherwise fetches
 * all matches through their index and sorts them. `decision` is tested row by row, so that this part starts only if
 * needed, and without parallel workers.
 */
function scanThenUseIndex(source: PageSource, filters: Sql, request: PageRequest): Found {
  const { joins, carried } = source
  const scans = scansOf(source, request)
  const length = source.found?.first ? shortScanLength : scanLength
  const record = raw(root)
  const keys = keyColumns(request.order)
  const resultOrder = orderClause(keyNamesOf(request.order), rootId, isDescending(request))
  // A scan that was cut short may have missed matches, which come before all of the next scan.
  const isCut = scans.map(
    ({ table, within, condition }) =>
      sql`exists (select from ${table} where ${within} and ${condition} offset ${length})`,
  )
  const scanInOrder = ({ table, within, condition, clause, take }: Scan, part: Sql) => {
    const start = sql`select ${carried.whole}, ${keys} from ${table}
      where ${within} and ${condition} order by ${clause} ${part}`
    const columns = carried.isNarrow
      ? join([carried.again, ...keyNamesOf(request.order), raw('absent')], ', ')
      : carried.again
    return sql`select ${columns}
      from (${start}) ${record}${joins} where ${filters} order by ${resultOrder} limit ${take}`
  }
  const orderedScan = sequentialScans('ordered_scan', scans, isCut, (scan) => scanInOrder(scan, sql`limit ${length}`))
  const more = source.extendScan ? secondScan(scans, scanInOrder) : undefined
  const found = more ? sql`select * from (${orderedScan.found}) scanned union all ${more.found}` : orderedScan.found
  const { inOrder: _, ...unordered } = source
  const fetched = scansOf(unordered, request).map(
    ({ condition, clause, take }) => sql`(
      select ${carried.again}, ${keys} from hits ${record} where ${condition} order by ${clause} limit ${take})`,
  )
  return {
    tables: sql`${orderedScan.tables}, ${more ? sql`${more.tables}, ` : raw('')}decision as materialized (
      select (select count(*) from (${found}) scanned) <= ${request.limit} and (${join(isCut, ' or ')}) as use_index),
    hits as materialized (
      select ${record}.* from decision, lateral (
        ${matchesSql(source, filters, request)} offset 0) ${record})`,
    found: sql`select * from (${found}) scanned where not ${isIndexUsed}
      union all ${join(fetched, ' union all ')}`,
  }
}

/** All matches, or those of them from which the page is taken. */
function matchesSql(source: PageSource, filters: Sql, request: PageRequest): Sql {
  const { table, joins, within, matched, carried, found } = source
  const select = sql`select ${carried.whole}`
  if (!found) return sql`${select} from ${table}${joins} where decision.use_index and ${matched} and ${filters}`
  const isMatch = join([found.within, within, ...(found.filters ? [found.filters] : [])], ' and ')
  const [only] = found.first ? scanConditions(request, found.first) : []
  if (!found.first || !only) return sql`${select} from ${found.table}${joins} where decision.use_index and ${isMatch}`
  const { keys, id, table: firstOf } = found.first
  const clause = orderClause(keys, id, isDescending(request))
  return sql`${select} from ${firstOf(only.condition, clause, takeOf(request))} where decision.use_index and ${within}`
}

/** The next part of the first scan, if its first part found some matches but not enough. */
function secondScan(scans: readonly Scan[], scanInOrder: (scan: Scan, part: Sql) => Sql): Found & { tables: Sql } {
  const [first] = scans
  if (!first) throw new Error('a page needs at least one scan')
  const take = sql`greatest(${first.take} - (select count(*) from ordered_scan_0), 0)`
  const rest = scanInOrder({ ...first, take }, sql`offset ${scanLength} limit ${secondScanLength}`)
  const isPromising = sql`(select count(*) from ordered_scan_0) >= ${minPromisingMatches} and (select count(*) from ordered_scan_0) < ${first.take}`
  return {
    tables: sql`second_scan as materialized (select * from (${rest}) rest where ${isPromising})`,
    found: sql`select * from second_scan`,
  }
}

/** One common table expression per scan; skipped if the page is full or `isCut` holds for an earlier scan. */
function sequentialScans(
  name: string,
  scans: readonly Scan[],
  isCut: readonly Sql[],
  select: (scan: Scan) => Sql,
): Found & { tables: Sql } {
  const names: Sql[] = []
  const tables = scans.map((scan, index) => {
    const found = join([raw('0'), ...names.map((earlier) => sql`(select count(*) from ${earlier})`)], ' + ')
    const goesOn = [sql`${found} < ${scan.take}`, ...isCut.slice(0, index).map((cut) => sql`not ${cut}`)]
    const table = raw(`${name}_${index}`)
    names.push(table)
    return index === 0
      ? sql`${table} as materialized (${select(scan)})`
      : sql`${table} as materialized (select * from (${select(scan)}) rest where ${join(goesOn, ' and ')})`
  })
  const all = names.map((table) => sql`select * from ${table}`)
  return { tables: join(tables, ', '), found: join(all, ' union all ') }
}

const isDescending = ({ order, cursor }: PageRequest): boolean => order.descending !== (cursor?.direction === 'before')

const keyColumns = (order: Order): Sql => {
  const keys = order.keys.map(({ value }, index) => sql`${value} as ${raw(`key_${index}`)}`)
  return sql`${join(keys, ', ')}, ${order.absent ?? raw('false')} as absent`
}

/** One of a page's scans, in its order. */
export interface Scan extends EntrySource {
  condition: Sql
  clause: Sql
  take: Sql
}

/**
 * The bounded scans in reading order: records with a value, then those without. Separate, so that one index serves each
 * of them: it would not serve `nulls last`.
 */
function scansOf(source: PageSource, request: PageRequest): Scan[] {
  const { table, within, filters, scanned, inOrder } = source
  const whole = scanned ? { ...scanned, within: sql`${within} and ${scanned.within}` } : { table, within, filters }
  const ordered = inOrder && { filters, ...inOrder, within: sql`${within} and ${inOrder.within}` }
  const keys = request.order.keys.map(({ value }) => value)
  const own: OrderedColumns = { keys, id: rootId, keysOf: (same) => same }
  const present = ordered ? raw('true') : undefined
  return scanConditions(request, ordered ?? own, present).map(({ condition, isAbsent }) => {
    const columns = isAbsent || !ordered ? own : ordered
    const clause = orderClause(columns.keys, columns.id, isDescending(request))
    return { ...(isAbsent || !ordered ? whole : ordered), condition, clause, take: takeOf(request) }
  })
}

const takeOf = ({ limit }: PageRequest): Sql => raw(String(limit + 1))

/** `isPresent`: the condition that a record has a sort value, if it is not the one of the order. */
function scanConditions(
  request: PageRequest,
  { keys, id, keysOf }: OrderedColumns,
  isPresent?: Sql,
): { condition: Sql; isAbsent?: true }[] {
  const { order, cursor } = request
  const { absent } = order
  const descending = isDescending(request)
  const bound = boundaryOf(request)
  const beyondBound = bound
    ? afterBoundary(keys, id, { keys: keysOf(bound.keys), id: bound.id }, descending)
    : raw('true')
  if (!absent) return [{ condition: beyondBound }]
  const present = isPresent ?? sql`not (${absent})`
  if (!bound) return [{ condition: present }, { condition: absent, isAbsent: true }]
  const symbol = raw(descending ? '<' : '>')
  if (cursor?.direction !== 'before') {
    const edge = raw(`'${descending ? highest : lowest}'::uuid`)
    const start = sql`(case when ${bound.absent} then ${bound.id} else ${edge} end)`
    return [
      { condition: sql`${present} and not ${bound.absent} and ${beyondBound}` },
      { condition: sql`${absent} and ${rootId} ${symbol} ${start}`, isAbsent: true },
    ]
  }
  return [
    { condition: sql`${absent} and ${bound.absent} and ${rootId} ${symbol} ${bound.id}`, isAbsent: true },
    { condition: sql`${present} and not ${bound.absent} and ${beyondBound}` },
    { condition: sql`${present} and ${bound.absent}` },
  ]
}

const asParameter = (value: string | Parameter) => (value instanceof Parameter ? value : new Parameter(value))

function boundaryOf({ order, cursor }: PageRequest): Boundary | undefined {
  if (!cursor) return undefined
  if ('position' in cursor.at) {
    const { keys, id } = cursor.at.position
    return boundaryFromText(order, keys?.map(asParameter), asParameter(id))
  }
  return {
    keys: keyNamesOf(order).map((name) => sql`(select ${name} from boundary)`),
    id: sql`(select id from boundary)`,
    absent: sql`(select absent from boundary)`,
  }
}

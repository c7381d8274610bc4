import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { type RowStatus, rowStatuses } from '../src/intake/imports/resource.ts'
import { until } from './processes.ts'
import type { Json, TestOrganization, TestService } from './service.ts'

type Counts = Partial<Record<RowStatus, number>>
type Audited = Pick<TestOrganization, 'organizationId' | 'importId' | 'call'>

const organizationOf = ({ organizationId }: Audited): string => decodeId('org', organizationId) ?? ''
const importOf = ({ importId }: Audited): string => decodeId('imp', importId) ?? ''

const read = <Row extends object>({ database }: Pick<TestService, 'database'>, statement: Sql): Promise<Row[]> =>
  database.crossTenantQuery<Row>('check the database', statement)

/** A unique lead that creates one contact, one company, one job and one note. */
export function newFullLead(): Json {
  const name = randomUUID()
  return {
    contact: { email: `${name}@example.com`, note: `About ${name}` },
    employment: { history: [{ organization: `Employer of ${name}`, start: '2024-01', current: true }] },
    company: { name: `Company ${name}` },
  }
}

/** How many rows of the import are in each state. */
export async function countsOf(service: TestService, target: Audited): Promise<Counts> {
  const rows = await read<{ status: RowStatus; count: number }>(
    service,
    sql`select status, count(*)::int as count from import_rows
      where organization_id = ${organizationOf(target)}::uuid and import_id = ${importOf(target)}::uuid group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Waits until the import has `count` rows and all of them are finished. */
export async function untilFinished(
  service: TestService,
  target: Audited,
  count: number,
  timeout = 120_000,
): Promise<void> {
  let counts: Counts = {}
  await until(
    `${count} rows are finished`,
    async () => {
      counts = await countsOf(service, target)
      const { PENDING = 0, PROCESSING = 0, RETRYING = 0 } = counts
      const all = Object.values(counts).reduce((sum, some) => sum + some, 0)
      return all === count && PENDING + PROCESSING + RETRYING === 0
    },
    timeout,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(counts)}`)
  })
}

/**
 * Checks that every accepted push has exactly one row and that there are no other rows except those of `unanswered`
 * pushes; that each created record is reported by exactly one row; and that the counts of the import are correct.
 */
export async function audit(
  service: TestService,
  target: Audited,
  { accepted, unanswered = 0 }: { accepted: readonly string[]; unanswered?: number },
): Promise<Counts> {
  const rows = await read<{ shown: string }>(
    service,
    sql`select 'row_' || replace(id::text, '-', '') as shown from import_rows
      where organization_id = ${organizationOf(target)}::uuid and import_id = ${importOf(target)}::uuid`,
  )
  const storedIds = new Set(rows.map(({ shown }) => shown))
  expect(new Set(accepted).size).toBe(accepted.length)
  expect(accepted.filter((id) => !storedIds.has(id))).toEqual([])
  expect(storedIds.size).toBe(accepted.length + unanswered)

  const { counts, shownCounts, reported, created } = await readUnchanged(service, target, async () => ({
    counts: await countsOf(service, target),
    shownCounts: (await target.call('GET', `/v5/imports/${target.importId}`)).body.stats.counts,
    reported: await reportedRecords(service, target),
    created: await createdRecords(service, target),
  }))
  expect(shownCounts).toEqual(Object.fromEntries(rowStatuses.map((status) => [status, counts[status] ?? 0])))
  expect(reported).toEqual(created)
  return counts
}

/** Repeats `observe` until no row of the import was written meanwhile. */
async function readUnchanged<Result>(
  service: TestService,
  target: Audited,
  observe: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const before = await versionsOf(service, target)
    const result = await observe()
    if (isDeepStrictEqual(before, await versionsOf(service, target))) return result
  }
}

/** The transaction that last wrote each row. */
const versionsOf = (service: TestService, target: Audited): Promise<{ id: string; writer: string }[]> =>
  read(
    service,
    sql`select id, xmin::text as writer from import_rows
      where organization_id = ${organizationOf(target)}::uuid and import_id = ${importOf(target)}::uuid order by id`,
  )

/** `contact con_…` for each record that a row reports as created; a note includes its row. */
async function reportedRecords(service: TestService, target: Audited): Promise<string[]> {
  const rows = await read<{ record: string }>(
    service,
    sql`select (change ->> 'object') || ' ' || (change ->> 'id')
        || case when change ->> 'object' = 'note' then ' ' || row.id else '' end as record
      from import_rows row, jsonb_array_elements(row.changes::jsonb) change
      where row.organization_id = ${organizationOf(target)}::uuid and change ->> 'action' = 'created'`,
  )
  return rows.map(({ record }) => record).sort()
}

async function createdRecords(service: TestService, target: Audited): Promise<string[]> {
  const organization = sql`where organization_id = ${organizationOf(target)}::uuid and deleted_at is null`
  const rows = await read<{ record: string }>(
    service,
    sql`select 'contact con_' || replace(id::text, '-', '') as record from contacts ${organization}
      union all select 'company com_' || replace(id::text, '-', '') from companies ${organization}
      union all select 'employment emp_' || replace(id::text, '-', '') from employments ${organization}
      union all select 'note not_' || replace(id::text, '-', '') || ' ' || coalesce(import_row_id::text, '') from notes
        ${organization}`,
  )
  return rows.map(({ record }) => record).sort()
}

/** The number of rows with lost workers, and of rows with failed attempts. */
export async function failureCountsOf(
  service: TestService,
  target: Audited,
): Promise<{ losses: number; attempts: number }> {
  const [row] = await read<{ losses: number; attempts: number }>(
    service,
    sql`select count(*) filter (where losses > 0)::int as losses, count(*) filter (where attempts > 0)::int as attempts
      from import_rows where organization_id = ${organizationOf(target)}::uuid`,
  )
  return row ?? { losses: Number.NaN, attempts: Number.NaN }
}

/**
 * Checks that no two rows set the same field, which the policy `fill` excludes unless one row misses the write of the
 * other. Tags, external ids and the end of a job can be added to later.
 */
export async function expectFilledOnce(service: TestService, target: Audited): Promise<void> {
  const rows = await read<Json>(
    service,
    sql`select change ->> 'id' as id, field.key as field, array_agg(field.value order by row.id) as values
      from import_rows row, jsonb_array_elements(row.changes::jsonb) change, jsonb_each(change -> 'after') field
      where row.organization_id = ${organizationOf(target)}::uuid and field.value <> 'null' and field.value <> '[]'
        and field.key not in ('tags', 'externalIds', 'current', 'end')
      group by 1, 2 having count(*) > 1`,
  )
  expect(rows).toEqual([])
}

/** Lines that the service logged as errors. */
export const errorsOf = ({ logged }: Pick<TestService, 'logged'>): string[] =>
  logged.filter((line) => Number((JSON.parse(line) as { level: number }).level) >= 50)

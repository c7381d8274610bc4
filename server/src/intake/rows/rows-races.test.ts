import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { onlyOnSingleServer } from '../../../test/single-server.ts'
import { isDistributed } from '../../../test/engines.ts'
import { addImport, addRows } from '../../../test/import-rows.ts'
import { until } from '../../../test/processes.ts'
import { type Call, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import type { Outcome } from '../merge/reconcile.ts'
import { type RowStatus, rowStatuses } from '../imports/resource.ts'
import { type Claim, claimRows, finishRows, failRow, lockRows, releaseRows } from '../work/work-store.ts'

let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  service = await startTestService()
  if (isDistributed()) return
  for (const statement of journal) await service.database.crossTenantQuery('check the database', statement)
})
beforeEach(async () => {
  // A new organization for each test, because a claim takes the oldest waiting rows of the organization.
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

/** Every change of the state of a row, as the database saw it. */
const journal = [
  sql`create table journal (
    number bigint generated always as identity, row_id uuid, was text, is_now text, lease uuid, changes int)`,
  sql`create function note_change() returns trigger language plpgsql as $$ begin
    insert into journal (row_id, was, is_now, lease, changes)
    values (new.id, old.status, new.status, old.lease, json_array_length(new.changes));
    return null; end $$`,
  sql`create trigger journal after update on import_rows for each row execute function note_change()`,
]

interface Step {
  row_id: string
  was: RowStatus
  is_now: RowStatus
  lease: string | null
  changes: number
}

const ends: readonly RowStatus[] = ['PARTIAL', 'INVALID', 'CONFLICT']
const retryable: readonly RowStatus[] = ['RETRYING', 'PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED']

/** Outcome of a row with one change, so that `changes` counts effects. */
const outcome = (id: string, status: RowStatus): Outcome => ({
  rowId: id,
  status,
  contactId: null,
  companyId: null,
  warnings: [],
  errors: [],
  changes: [{ object: 'contact', id: encodeId('con', id), action: 'created', before: {}, after: {} }],
})

/** Finishes rows like a worker: in one transaction with their effects, and only rows that the claim still has. */
async function finishClaimed(claimNext: Claim, status: RowStatus): Promise<string[]> {
  return service.database.transaction(serviceActor('work', claimNext.organizationId), async (transaction) => {
    const claimed = await lockRows(transaction, claimNext)
    const ids = [...claimed.keys()]
    await finishRows(
      transaction,
      ids.map((id) => outcome(id, status)),
      claimed,
    )
    return ids
  })
}

const claimNext = (maxRows: number, leaseSeconds: number): Promise<Claim> =>
  service.database.transaction(
    serviceActor('work', decodeId('org', organization.organizationId) ?? ''),
    (transaction) => claimRows(transaction, { maxRows, leaseSeconds }),
  )

test('rows that are retried and cancelled during processing change hands without losing an effect', async (context) => {
  onlyOnSingleServer(context, 'a trigger writes the journal')
  const importId = await addImport(service, organization)
  const path = `/v5/imports/${importId}/rows`
  const ids = await addRows(
    service,
    importId,
    Array.from({ length: 200 }, () => ({})),
  )
  const reported = { retried: 0, cancelled: 0 }
  let effects = 0
  let round = 0
  const deadline = Date.now() + 40_000
  const isOver = () => (effects > 150 && reported.retried > 300 && reported.cancelled > 300) || Date.now() > deadline

  const work = async () => {
    while (!isOver()) {
      // A lease of zero seconds expires immediately: another worker takes the row over, and the first one cannot finish
      // it.
      const claimed = await claimNext(5, round % 4 === 0 ? 0 : 30)
      if (claimed.rowIds.length === 0) continue
      round += 1
      if (round % 5 === 1)
        for (const id of claimed.rowIds) await failRow(service.database, { ...claimed, rowIds: [id] }, retryPolicy)
      else if (round % 7 === 1) await releaseRows(service.database, claimed)
      else {
        const ended = await finishClaimed(
          claimed,
          round % 9 === 3 ? 'PROCESSED' : (ends[round % ends.length] ?? 'INVALID'),
        )
        effects += ended.length
      }
    }
  }
  const changeMany = async () => {
    for (let turn = 0; !isOver(); turn++) {
      const query = turn % 3 === 0 ? '?filter.status.in=DEAD,CANCELLED,INVALID' : ''
      const retried = await call('POST', `${path}/retry${query}`)
      const cancelled = await call('POST', `${path}/cancel`)
      expect([retried.status, cancelled.status]).toEqual([200, 200])
      reported.retried += retried.body.count
      reported.cancelled += cancelled.body.count
    }
  }
  const retryOne = async () => {
    for (let turn = 0; !isOver(); turn++) {
      const { status, text } = await call('POST', `${path}/${ids[turn % ids.length]}/retry`)
      expect([text, [200, 423].includes(status)]).toEqual([text, true])
      if (status === 200) reported.retried += 1
    }
  }
  await Promise.all([work(), work(), work(), changeMany(), changeMany(), retryOne()])

  const steps = await service.database.crossTenantQuery<Step>(
    'check the database',
    sql`select row_id, was, is_now, lease, changes from journal
      where row_id in (select id from import_rows where import_id = ${decodeId('imp', importId)}) order by number`,
  )
  const kinds = new Set(steps.map(({ was, is_now: now }) => `${was} ${now}`))
  const possible = [
    ...['PENDING', 'RETRYING', 'PROCESSING'].flatMap((was) => [`${was} PROCESSING`]),
    ...['PENDING', 'RETRYING'].map((was) => `${was} CANCELLED`),
    ...retryable.map((was) => `${was} PENDING`),
    ...[...ends, 'PROCESSED', 'RETRYING', 'PENDING', 'DEAD'].map((now) => `PROCESSING ${now}`),
  ]
  expect([...kinds].filter((kind) => !possible.includes(kind))).toEqual([])
  // Otherwise, the test would prove nothing.
  for (const kind of [
    'PENDING CANCELLED',
    'CANCELLED PENDING',
    'PROCESSING PROCESSED',
    'PROCESSING PROCESSING',
    'INVALID PENDING',
  ]) {
    expect([kind, kinds.has(kind)]).toEqual([kind, true])
  }
  // A lease finishes a row once, and everything that was reported happened once.
  const ended = steps.filter(({ was, is_now: now }) => was === 'PROCESSING' && now !== 'PROCESSING')
  const byLease = ended.filter(({ lease }) => lease !== null).map(({ row_id: id, lease }) => `${id} ${lease}`)
  expect(new Set(byLease).size).toBe(byLease.length)
  const count = (is: (step: Step) => boolean) => steps.filter(is).length
  expect(count(({ is_now: now }) => [...ends, 'PROCESSED'].includes(now))).toBe(effects)
  expect(count(({ is_now: now }) => now === 'CANCELLED')).toBe(reported.cancelled)
  expect(count(({ was, is_now: now }) => was !== 'PROCESSING' && now === 'PENDING')).toBe(reported.retried)
  const rows = new Map(steps.map(({ row_id: id, changes }) => [id, changes]))
  expect([...rows.values()].reduce((sum, changes) => sum + changes, 0)).toBe(effects)
  await expectCounts(importId)
})

const retryPolicy = { attempts: 3, firstDelaySeconds: 0, maxDelaySeconds: 0 }

/** Expects the counts of the import to match its rows. */
async function expectCounts(importId: string): Promise<void> {
  const rows = await service.database.crossTenantQuery<{ status: RowStatus; count: string }>(
    'check the database',
    sql`select status, count(*) from import_rows where import_id = ${decodeId('imp', importId)} group by status`,
  )
  const { body } = await call('GET', `/v5/imports/${importId}`)
  const counted = new Map(rows.map(({ status, count }) => [status, Number(count)]))
  expect(body.stats.counts).toEqual(Object.fromEntries(rowStatuses.map((status) => [status, counted.get(status) ?? 0])))
}

test('a worker cannot finish a row that another worker took over and that was retried since', async () => {
  const importId = await addImport(service, organization)
  const [id = ''] = await addRows(service, importId, [{}])
  const one = `/v5/imports/${importId}/rows/${id}`
  const slow = await claimNext(1, 0)
  const quick = await claimNext(1, 30)
  expect([slow.rowIds, quick.rowIds]).toEqual([[decodeId('row', id)], [decodeId('row', id)]])
  await finishClaimed(quick, 'PARTIAL')
  expect((await call('POST', `${one}/retry`)).body).toMatchObject({ status: 'PENDING', attempts: 0 })
  expect(await finishClaimed(slow, 'PROCESSED')).toEqual([])
  await failRow(service.database, slow, retryPolicy)
  await releaseRows(service.database, quick)
  const { body } = await call('GET', one)
  expect([body.status, body.attempts, body.changes.length]).toEqual(['PENDING', 0, 1])
  // The changes of the second worker are added to those of the first.
  await finishClaimed(await claimNext(1, 30), 'PROCESSED')
  expect((await call('GET', one)).body.changes).toHaveLength(2)
})

test('a retry waits for the worker that is finishing the row and sees the result', async () => {
  const importId = await addImport(service, organization)
  const [id = ''] = await addRows(service, importId, [{}])
  const claimed = await claimNext(1, 30)
  const retry = () => call('POST', `/v5/imports/${importId}/rows/${id}/retry`)
  const pendingRetry = await service.database.transaction(
    serviceActor('work', claimed.organizationId),
    async (transaction) => {
      const locked = await lockRows(transaction, claimed)
      const request = retry()
      await until('the retry waits for the row', async () => (await waitingForLocks()) > 0)
      // A change by filter does not wait: a worker has the row.
      const { body } = await call('POST', `/v5/imports/${importId}/rows/retry`)
      expect(body).toEqual({ dryRun: false, count: 0, remaining: 0 })
      await finishRows(transaction, [outcome(claimed.rowIds[0] ?? '', 'INVALID')], locked)
      return { request }
    },
  )
  expect(await pendingRetry.request).toMatchObject({
    status: 200,
    body: { status: 'PENDING', changes: [{ action: 'created' }] },
  })
})

async function waitingForLocks(): Promise<number> {
  const [row] = await service.database.crossTenantQuery<{ count: number }>(
    'check the database',
    sql`select count(*)::int as count from ${raw(isDistributed() ? 'citus_stat_activity' : 'pg_stat_activity')}
      where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return row?.count ?? 0
}

import { randomUUID } from 'node:crypto'
import { sql } from '../src/platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../src/platform/model/ids.ts'
import type { RowStatus } from '../src/intake/imports/resource.ts'
import type { TestOrganization, TestService } from './service.ts'

/** The stored values of a row that differ from the defaults. */
export interface SampleRow {
  status?: RowStatus
  payload?: object
  warnings?: object[]
  errors?: object[]
  changes?: object[]
  warningCodes?: string[]
  errorCodes?: string[]
  /** As a public id. */
  contactId?: string
  createdAt?: string
}

const waiting: readonly RowStatus[] = ['PENDING', 'RETRYING', 'PROCESSING']

/** Whether the status is final, so that the row has left the queue. */
export const hasEnded = (status: RowStatus): boolean => !waiting.includes(status)

/** Inserts an import; returns its public id. */
export async function addImport(service: TestService, organization: TestOrganization): Promise<string> {
  const id = newId()
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into imports (organization_id, id, name, team_id)
      values (${decodeId('org', organization.organizationId)}, ${id}, ${`Import ${randomUUID()}`},
        ${decodeId('tea', organization.teamId)})`,
  )
  return encodeId('imp', id)
}

/** Inserts rows, each created a second after the previous one; returns their public ids. */
export async function addRows(
  service: TestService,
  importId: string,
  samples: readonly SampleRow[],
): Promise<string[]> {
  const first = Date.now() - samples.length * 1000
  const rows = samples.map((sample, index) => {
    const { status = 'PENDING', contactId } = sample
    const createdAt = sample.createdAt ?? new Date(first + index * 1000).toISOString()
    return {
      id: newId(),
      status,
      payload: sample.payload ?? { contact: { email: `${index}@example.com` } },
      warnings: sample.warnings ?? [],
      errors: sample.errors ?? [],
      changes: sample.changes ?? [],
      warning_codes: sample.warningCodes ?? [],
      error_codes: sample.errorCodes ?? [],
      contact_id: contactId === undefined ? null : decodeId('con', contactId),
      attempts: status === 'RETRYING' || status === 'DEAD' ? 3 : 0,
      losses: status === 'DEAD' ? 2 : 0,
      run_at: hasEnded(status) ? null : createdAt,
      lease: status === 'PROCESSING' ? newId() : null,
      finished_at: hasEnded(status) ? createdAt : null,
      created_at: createdAt,
    }
  })
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into import_rows (organization_id, import_id, id, status, payload, warnings, errors, changes, warning_codes,
        error_codes, contact_id, attempts, losses, run_at, lease, finished_at, created_at, updated_at)
      select imports.organization_id, imports.id, given.id, status, payload, warnings, errors, changes, warning_codes,
        error_codes, contact_id, attempts, losses, run_at, lease, finished_at, given.created_at, given.created_at
      from imports cross join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id uuid, status text,
        payload jsonb, warnings jsonb, errors jsonb, changes jsonb, warning_codes text[], error_codes text[],
        contact_id uuid, attempts int, losses int, run_at timestamptz, lease uuid, finished_at timestamptz,
        created_at timestamptz)
      where imports.id = ${decodeId('imp', importId)}`,
  )
  await countRows(service, importId)
  return rows.map(({ id }) => encodeId('row', id))
}

/** Counts the rows, as whatever stores rows does. */
async function countRows(service: TestService, importId: string): Promise<void> {
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into import_row_counts (organization_id, import_id, status, change)
      select organization_id, import_id, status, count(*) from import_rows
      where import_id = ${decodeId('imp', importId)} group by 1, 2, 3`,
  )
}

/** The status of each row of the import, oldest first. */
export async function statusesOf(service: TestService, importId: string): Promise<RowStatus[]> {
  const rows = await service.database.crossTenantQuery<{ status: RowStatus }>(
    'check the database',
    sql`select status from import_rows where import_id = ${decodeId('imp', importId)} order by created_at, id`,
  )
  return rows.map(({ status }) => status)
}

/** The queue columns of a row, which responses do not show. */
export async function queueStateOf(service: TestService, rowId: string): Promise<object | undefined> {
  const [row] = await service.database.crossTenantQuery<{ losses: number; lease: string | null; due: boolean }>(
    'check the database',
    sql`select losses, lease, run_at <= now() as due from import_rows where id = ${decodeId('row', rowId)}`,
  )
  return row
}

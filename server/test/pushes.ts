import { randomUUID } from 'node:crypto'
import { identifier, raw, sql } from '../src/platform/model/sql.ts'
import type { Database } from '../src/platform/database/database.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import type { CallOptions, Json, TestResponse, TestOrganization, TestService } from './service.ts'

/** An import and a function that pushes to it. */
export interface TestImport {
  /** The public id; `uuid` is the id in the database. */
  importId: string
  uuid: string
  /** The secret part of the trigger URL; `path` is the path of that URL. */
  hash: string
  path: string
  push(body?: unknown, options?: CallOptions & { query?: string }): Promise<TestResponse<Json>>
}

/** A valid lead with a new address. */
export const newLead = (): { contact: { email: string } } => ({ contact: { email: `${randomUUID()}@example.com` } })

/** Creates an import. */
export async function newImport(service: TestService, { call }: Pick<TestOrganization, 'call'>): Promise<TestImport> {
  const { body } = await call('POST', '/v5/imports', { body: { name: 'Leads' } })
  const path = new URL(body.triggerUrl).pathname
  return {
    importId: body.id,
    uuid: decodeId('imp', body.id) ?? '',
    hash: path.split('/').at(-1) ?? '',
    path,
    push: pusher(service, path),
  }
}

/** Pushes to a path of a service. */
export const pusher =
  (service: TestService, path: string): TestImport['push'] =>
  (body = newLead(), { query = '', ...options } = {}) =>
    service.anonymous('POST', `${path}${query}`, { body, ...options })

/** The rows of an import, oldest first. */
export const rowsOf = (database: Database, { uuid }: Pick<TestImport, 'uuid'>): Promise<Json[]> =>
  database.crossTenantQuery<Json>(
    'check the database',
    sql`select *, 'row_' || replace(id::text, '-', '') as shown from import_rows where import_id = ${uuid}::uuid order by id`,
  )

/** Lets URLs of an import expire: those that a rotation has replaced, or all of them. */
export async function expireUrls(database: Database, importUuid: string, which: 'replaced' | 'all'): Promise<void> {
  for (const table of ['import_triggers', 'import_secrets'])
    await database.crossTenantQuery(
      'check the database',
      sql`update ${identifier(table)} set expires_at = now() - interval '1 second'
        where import_id = ${importUuid}::uuid ${raw(which === 'all' ? '' : 'and expires_at is not null')}`,
    )
}

import { randomUUID } from 'node:crypto'
import { sql } from '../src/platform/model/sql.ts'
import type { Database } from '../src/platform/database/database.ts'
import { readId } from '../src/platform/model/ids.ts'
import type { CallOptions, Json, TestResponse, TestOrganization, TestService } from './service.ts'

/** An import of its own, and the way to push at it. */
export interface TestImport {
  /** As answers show it, and as the database has it. */
  importId: string
  uuid: string
  /** The secret part of its URL, and the URL's path. */
  hash: string
  path: string
  push(body?: unknown, options?: CallOptions & { query?: string }): Promise<TestResponse<Json>>
}

/** A lead that can be accepted, of nobody else. */
export const newLead = (): { contact: { email: string } } => ({ contact: { email: `${randomUUID()}@example.com` } })

/** Makes an import; its pushes go to `service`. */
export async function newImport(service: TestService, { call }: TestOrganization): Promise<TestImport> {
  const { body } = await call('POST', '/v5/imports', { body: { name: 'Leads' } })
  const path = new URL(body.triggerUrl).pathname
  return {
    importId: body.id,
    uuid: readId('imp', body.id) ?? '',
    hash: path.split('/').at(-1) ?? '',
    path,
    push: pusher(service, path),
  }
}

/** Pushes at a path of a service. */
export const pusher =
  (service: TestService, path: string): TestImport['push'] =>
  (body = newLead(), { query = '', ...options } = {}) =>
    service.anonymous('POST', `${path}${query}`, { body, ...options })

/** The rows of an import, the oldest first. */
export const rowsOf = (database: Database, { uuid }: Pick<TestImport, 'uuid'>): Promise<Json[]> =>
  database.crossTenantQuery<Json>(
    'check the database',
    sql`select *, 'row_' || replace(id::text, '-', '') as shown from import_rows where import_id = ${uuid}::uuid order by id`,
  )

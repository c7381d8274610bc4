import { decodeId } from '../src/platform/model/ids.ts'
import { processNextBatch } from '../src/intake/work/batch.ts'
import type { Json, TestOrganization, TestService } from './service.ts'

/** A processed row. */
export interface Pushed {
  id: string
  status: string
  contactId: string | null
  companyId: string | null
  warnings: Json[]
  errors: Json[]
  changes: Json[]
}

/**
 * Pushes leads to the organization's import and processes them in batches; returns the rows in the order of the pushes.
 * For a service without import workers.
 */
export function pushesOf(
  { anonymous, database }: TestService,
  { organizationId, importId, triggerUrl, call }: TestOrganization,
): (...payloads: Json[]) => Promise<Pushed[]> {
  const id = decodeId('org', organizationId) ?? ''
  return async (...payloads) => {
    const rowIds: string[] = []
    for (const body of payloads) {
      const answer = await anonymous('POST', new URL(triggerUrl).pathname, { body })
      if (answer.status !== 200) throw new Error(`A push was refused: ${answer.text}`)
      rowIds.push(answer.body.id)
    }
    const batch = { maxRows: 200, leaseSeconds: 60, onClaimed: () => undefined }
    for (let isMore = true; isMore;) isMore = await processNextBatch(database, id, batch)
    return Promise.all(
      rowIds.map(async (rowId) => (await call('GET', `/v5/imports/${importId}/rows/${rowId}`)).body as Pushed),
    )
  }
}

import { recordCommand } from '../platform/audit/store.ts'
import { serviceActor } from '../platform/model/caller.ts'
import type { Actor } from '../platform/model/caller.ts'
import type { Connection, Database } from '../platform/database/database.ts'
import { StartError } from '../platform/database/start-error.ts'
import { bodyShape, parseBody } from '../platform/records/request/body.ts'
import type { Row } from '../platform/records/declare/define.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import { writeOne } from '../platform/records/write/store.ts'
import { overlapOf } from '../platform/records/routes/one-time-secret.ts'
import { importRotationShape, imports } from '../intake/imports/resource.ts'
import { createImport, importStore, readAllImports, findImports, rotateTrigger } from '../intake/imports/store.ts'
import { countReceived, type Removal, removeReceived } from '../intake/removal/remove.ts'
import { triggerUrl } from '../intake/imports/trigger.ts'
import { findTeam } from '../identity/teams/store.ts'
import { findOrganization } from './find-organization.ts'
import type { JsonObject, JsonValue } from '../platform/model/json.ts'

interface CommandTarget {
  database: Database
  /** Id, slug or name of an organization. */
  organization: string
}

export interface NewImport {
  /** Base URL of the API, such as `https://crm.example/v5`. */
  baseUrl: string
  name: string
  /** Id or name of a team; the default team if undefined. */
  team?: string | undefined
  tags?: readonly string[] | undefined
  mergePolicy?: string | undefined
}

export interface CreatedImport {
  id: string
  /** Shown only once. */
  triggerUrl: string
}

/** Creates an import with the same rules as the API. Errors: `StartError`, `ApiError`. */
export async function addImport({ database, organization }: CommandTarget, options: NewImport): Promise<CreatedImport> {
  const { baseUrl, name, team, tags, mergePolicy } = options
  const actor = await actorOf(database, organization)
  const values = parseBody(bodyShape(imports, 'create'), {
    name,
    ...(team !== undefined && { teamId: await findTeamId(database.reader(actor), team) }),
    ...(tags && { tags }),
    ...(mergePolicy !== undefined && { mergePolicy }),
  })
  const { written, secret } = await database.transaction(actor, async (transaction) => {
    const created = await createImport(transaction, values)
    await recordCommand(transaction, actor.organizationId, 'import.created', auditRecord(created.written.id))
    return created
  })
  const { recordId: id } = auditRecord(written.id)
  return { id, triggerUrl: triggerUrl(baseUrl, id, secret) }
}

export interface RotationRequest {
  baseUrl: string
  /** Id or name of the import. */
  nameOrId: string
  overlapSeconds?: number | undefined
}

export interface RotatedImport extends CreatedImport {
  /** When the previous URL expires; null if it has expired. */
  previousUrlExpiresAt: string | null
}

/** Replaces the trigger URL of an import. Errors: `StartError`, `ApiError`. */
export async function rotateImport(
  { database, organization }: CommandTarget,
  { baseUrl, nameOrId, overlapSeconds }: RotationRequest,
): Promise<RotatedImport> {
  const overlap = overlapOf(parseBody(importRotationShape, overlapSeconds === undefined ? {} : { overlapSeconds }))
  const actor = await actorOf(database, organization)
  const importId = await findImportId(database.reader(actor), nameOrId.trim())
  const { secret, previousEndsAt } = await database.transaction(actor, async (transaction) => {
    await recordCommand(transaction, actor.organizationId, 'import.rotated', auditRecord(importId))
    return rotateTrigger(transaction, { importId, overlapSeconds: overlap })
  })
  const { recordId: id } = auditRecord(importId)
  return { id, triggerUrl: triggerUrl(baseUrl, id, secret), previousUrlExpiresAt: previousEndsAt }
}

/** Disables or enables an import; false if it already was. Errors: `StartError`. */
export async function setImportDisabled(
  { database, organization }: CommandTarget,
  { nameOrId, isDisabled }: { nameOrId: string; isDisabled: boolean },
): Promise<{ id: string; isChanged: boolean }> {
  const actor = await actorOf(database, organization)
  const importId = await findImportId(database.reader(actor), nameOrId.trim())
  const isChanged = await database.transaction(actor, async (transaction) => {
    let hasChanged = false
    const columns = ({ disabledAt }: JsonObject): Record<string, JsonValue> => {
      hasChanged = (disabledAt !== null) !== isDisabled
      return hasChanged ? { disabled_at: isDisabled ? 'now' : null } : {}
    }
    await writeOne(importStore, transaction, { kind: 'update', id: importId, values: {}, columns })
    const action = isDisabled ? 'import.disabled' : 'import.enabled'
    if (hasChanged) await recordCommand(transaction, actor.organizationId, action, auditRecord(importId))
    return hasChanged
  })
  return { id: auditRecord(importId).recordId, isChanged }
}

/** Removes what an import received, step by step, or counts it. Errors: `StartError`, `ApiError`. */
export async function removeAllReceived(
  { database, organization }: CommandTarget,
  { nameOrId, dryRun }: { nameOrId: string; dryRun: boolean },
): Promise<Removal & { id: string }> {
  const actor = await actorOf(database, organization)
  const importId = await findImportId(database.reader(actor), nameOrId.trim())
  const id = auditRecord(importId).recordId
  if (dryRun)
    return { id, ...(await database.transaction(actor, (transaction) => countReceived(transaction, importId))) }
  const total = { rows: 0, contacts: 0, companies: 0, notes: 0 }
  for (let after: string | undefined; ;) {
    const step = await database.transaction(actor, async (transaction) => {
      const removed = await removeReceived(transaction, importId, after)
      const { rows, contacts, companies, notes } = removed
      const details = { rows, contacts, companies, notes }
      if (rows + contacts + companies + notes > 0)
        await recordCommand(transaction, actor.organizationId, 'import-rows.removed', {
          ...auditRecord(importId),
          details,
        })
      return removed
    })
    for (const kind of ['rows', 'contacts', 'companies', 'notes'] as const) total[kind] += step[kind]
    // Rows that a worker is processing are left.
    if (step.remaining === 0 || (step.next === null && step.rows + step.contacts === 0))
      return { id, ...step, ...total }
    after = step.next === null ? undefined : decodeId('con', step.next)
  }
}

/** All imports of the organization, as `GET /v5/imports` returns them. Errors: `StartError`. */
export async function listImports({ database, organization }: CommandTarget): Promise<Row<typeof imports>[]> {
  const actor = await actorOf(database, organization)
  return JSON.parse(await readAllImports(database.reader(actor))) as Row<typeof imports>[]
}

const auditRecord = (importId: string) => ({
  recordType: imports.singular,
  recordId: encodeId(imports.idPrefix, importId),
})

async function actorOf(database: Database, organization: string): Promise<Actor> {
  const { id, ownerId } = await findOrganization(database, organization)
  return serviceActor('command', id, ownerId)
}

/** Id of the team in the form of the API. The write checks whether a team with this id exists. */
async function findTeamId(db: Connection, nameOrId: string): Promise<string> {
  if (decodeId('tea', nameOrId) !== undefined) return nameOrId
  const id = await findTeam(db, nameOrId)
  if (id === undefined) throw new StartError(`There is no team "${nameOrId}". Use its id or name.`)
  return id
}

async function findImportId(db: Connection, nameOrId: string): Promise<string> {
  const id = decodeId(imports.idPrefix, nameOrId)
  if (id !== undefined) return id
  const [first, ...others] = await findImports(db, nameOrId)
  if (first === undefined) throw new StartError(`There is no import "${nameOrId}". Use its id or name.`)
  if (others.length === 0) return first
  const ids = [first, ...others].map((one) => encodeId(imports.idPrefix, one)).join(', ')
  throw new StartError(`Several imports are called "${nameOrId}": ${ids}. Use the id.`)
}

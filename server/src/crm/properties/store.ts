import type { Connection, Transaction } from '../../platform/database/database.ts'
import { displayNoun, initialValues } from '../../platform/records/declare/define.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { visibleOrganization, isRestricted } from '../../platform/records/filter/scope.ts'
import { documentSql } from '../../platform/records/page/select.ts'
import { root } from '../../platform/records/filter/target.ts'
import { createIndex, dropIndex, readIndexes } from '../../platform/records/properties/indexes.ts'
import {
  lockSetsForChange,
  readPropertySets,
  storeDefinitions,
  storeUndeclared,
} from '../../platform/records/properties/sets.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { UniqueConflict } from '../../platform/records/write/unique-conflict.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { members } from '../../identity/members/resource.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { definableResources, properties, type referableResources, type undeclaredChoices } from './resource.ts'
import { assertFit, obstaclesOf } from './report.ts'
import { definitionOf, prepareProperty } from './rules.ts'
import { examineAllRecords, examineRecords } from './examination.ts'
import {
  definableResource,
  deleteUniqueValues,
  findDuplicates,
  noneStored,
  storeUniqueValues,
} from './stored-values-store.ts'
import type { PendingChange, Referable } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import type { PropertyDefinition } from '../../platform/records/declare/field.ts'

export const propertyStore = standardStore(properties, {
  async beforeWrite(transaction, pending) {
    // First, so that no record is written until the change is complete.
    await lockSetsForChange(transaction, tablesOf(pending))
    await assignPositions(transaction, pending)
    for (const change of pending) {
      await checkStoredValues(transaction, change)
      // The record that is returned shows the state of the index.
      await updateIndex(transaction, change)
    }
  },
  async afterWrite(transaction, _, pending) {
    for (const change of pending) await updateUniqueValues(transaction, change)
    for (const table of tablesOf(pending)) await updateSet(transaction, table)
  },
})

/** The resources whose records a property can name. */
export const referable: Readonly<Record<(typeof referableResources)[number], Referable>> = {
  contacts: { resource: contacts },
  companies: { resource: companies },
  deals: { resource: deals },
  members: { resource: members, table: 'members', key: 'user_id' },
}

type Undeclared = Record<(typeof definableResources)[number], (typeof undeclaredChoices)[number]>

/** What happens to keys without a definition, by resource. */
export async function readUndeclared(db: Connection): Promise<Undeclared> {
  const sets = await readPropertySets(
    db,
    definableResources.map((name) => definableResource(name)),
  )
  const entries = definableResources.map((name) => [name, sets.get(name)?.refusesUndeclared ? 'refused' : 'accepted'])
  return Object.fromEntries(entries) as Undeclared
}

/** Changes what happens to keys without a definition; returns the names of the changed resources. */
export async function updateUndeclared(transaction: Transaction, wanted: JsonObject): Promise<readonly string[]> {
  const names = definableResources.filter((name) => name in wanted)
  if (names.length === 0) return []
  await lockSetsForChange(transaction, names)
  const current = await readUndeclared(transaction)
  const changed = names.filter((name) => wanted[name] !== current[name])
  for (const name of changed) await storeUndeclared(transaction, name, wanted[name] === 'refused')
  return changed
}

/** What records have at the key of a definition (uuid and body of a create). Throws 422 and 409, like a create. */
export async function checkDefinition(transaction: Transaction, id: string, values: JsonObject) {
  const { values: prepared, errors = [] } = prepareProperty({ ...initialValues(properties), ...values }, undefined)
  if (errors.length > 0) throw invalidBody(errors)
  const definition = definitionOf(id, prepared)
  await assertKeyIsFree(transaction, definition, prepared)
  const resource = definableResource(prepared.resource)
  const stored = {
    ...examineRecords(transaction, { resource, definition, checksFit: true, removed: [] }).found,
    ...(definition.unique ? await findDuplicates(transaction, resource, definition) : noDuplicates),
  }
  const { used, unfit, duplicates } = stored
  return { used, unfit, duplicates, records: obstaclesOf(definition, stored) }
}

/** Throws 409 if another definition has the key: its records would not fit another type. */
async function assertKeyIsFree(
  transaction: Transaction,
  { id, key }: PropertyDefinition,
  { resource }: JsonObject,
): Promise<void> {
  const holder = sql`select id from properties where organization_id = ${transaction.organization}
    and deleted_at is null and resource = ${resource} and key = ${key} and id <> ${id}::uuid`
  if ((await transaction.query(holder)).length > 0) throw new UniqueConflict(properties, 'key', holder, {})
}

/** The tables whose definitions change; each resource has the table of its name. */
const tablesOf = (pending: readonly PendingChange[]): string[] =>
  [...new Set(pending.map(({ before, values }) => String(before?.resource ?? values.resource)))].sort()

/** A new property comes after the others of its resource. */
async function assignPositions(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  for (const { before, values } of pending) {
    if (before || (values.position ?? null) !== null) continue
    const [last] = await transaction.query<{ position: string }>(sql`
      select coalesce(floor(max("position")), 0)::text as position from properties
      where organization_id = ${transaction.organization} and resource = ${values.resource} and deleted_at is null`)
    values.position = String(BigInt(last?.position ?? '0') + 1n)
  }
}

const afterOf = ({ before, values }: PendingChange): JsonObject => ({ ...before, ...values })

/** Is the definition new, or in effect again? */
const isDeclared = ({ before, columns }: PendingChange): boolean => !before || columns.deleted_at === null

/** A definition applies to what records already have. Throws 422 or 423. */
async function checkStoredValues(transaction: Transaction, change: PendingChange): Promise<void> {
  const after = afterOf(change)
  const resource = definableResource(after.resource)
  const definition = definitionOf(change.id, after)
  const removed = removedChoices(change, definition)
  const checksFit = isDeclared(change)
  const checksUnique = definition.unique && (checksFit || change.values.unique === true)
  if (checksFit) await assertKeyIsFree(transaction, definition, after)
  if (!checksFit && !checksUnique && removed.length === 0) return
  assertSeesAll(transaction, resource)
  const found =
    checksFit || removed.length > 0
      ? await examineAllRecords(transaction, { resource, definition, checksFit, removed })
      : noneStored
  const duplicates = checksUnique ? await findDuplicates(transaction, resource, definition) : noDuplicates
  assertFit(resource, definition, { ...found, ...duplicates })
  if (found.removed > 0) throw choicesInUse(removed, found.removed)
}

/** Whether a definition applies shows what all records have, and it limits what they may have. Error: 403. */
function assertSeesAll(transaction: Transaction, resource: ReturnType<typeof definableResource>): void {
  if (!isRestricted(resource, scopeOf(transaction, undefined))) return
  throw new ApiError(
    'insufficient_permissions',
    `A definition applies to all ${displayNoun(resource.name)}, and your role does not see all of them. Ask an owner or an admin.`,
  )
}

const noDuplicates = { duplicates: 0, duplicateExamples: [] }

function removedChoices({ before }: PendingChange, { choices }: PropertyDefinition): string[] {
  if (!before) return []
  const remaining = new Set(choices.map(({ value }) => value))
  return definitionOf('', before).choices.flatMap(({ value }) => (remaining.has(value) ? [] : [value]))
}

const choicesInUse = (removed: readonly string[], count: number): ApiError =>
  new ApiError(
    'resource_locked',
    `Records, including deleted ones, still have ${removed.map((value) => `"${value}"`).join(', ')}: ${count}. Archive the choice instead, or change these records first.`,
    { details: [{ field: 'choices', message: `${count} records have a removed choice; archive it instead` }] },
  )

/** Starts an index, which is then built in the background, or drops it. */
async function updateIndex(transaction: Transaction, change: PendingChange): Promise<void> {
  const after = afterOf(change)
  const isDeleted = typeof change.columns.deleted_at === 'string'
  if (isDeleted || (change.before && change.values.indexed === false)) await dropIndex(transaction, change.id)
  else if (after.indexed === true && (isDeclared(change) || change.values.indexed === true))
    await createIndex(transaction, definableResource(after.resource).table, definitionOf(change.id, after))
}

/** Starts or ends the uniqueness of the values that records have. */
async function updateUniqueValues(transaction: Transaction, change: PendingChange): Promise<void> {
  const after = afterOf(change)
  const resource = definableResource(after.resource)
  const definition = definitionOf(change.id, after)
  const isDeleted = typeof change.columns.deleted_at === 'string'
  if (isDeleted || change.values.unique === false) await deleteUniqueValues(transaction, resource, definition)
  else if (definition.unique && (isDeclared(change) || change.values.unique === true))
    await storeUniqueValues(transaction, resource, definition)
}

/** Stores the definitions of a table for the writes of its records. */
async function updateSet(transaction: Transaction, table: string): Promise<void> {
  const indexes = await readIndexes(transaction, table)
  const rows = await transaction.query<{ text: string }>(sql`
    select ${documentSql(properties, { organization: visibleOrganization(transaction) })} as text from properties ${raw(root)}
    where organization_id = ${transaction.organization} and resource = ${table} and deleted_at is null
    order by "position", id`)
  const definitions = rows.map(({ text }) => {
    const record = JSON.parse(text) as JsonObject
    const id = decodeId(properties.idPrefix, String(record.id)) ?? ''
    return definitionOf(id, record, indexes.get(id) ?? null)
  })
  await storeDefinitions(transaction, table, definitions)
}

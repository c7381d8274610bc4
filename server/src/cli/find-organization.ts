import type { Database } from '../platform/database/database.ts'
import { StartError } from '../platform/database/start-error.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import { findOrganizations, type FoundOrganization } from '../identity/organizations/store.ts'

/** Finds an organization, and its owner (uuid), on whose behalf a command acts. Errors: `StartError`. */
export async function findOrganization(database: Database, nameOrId: string): Promise<{ id: string; ownerId: string }> {
  const { id, name, ownerId, deletesAt } = await findAnyOrganization(database, nameOrId)
  if (deletesAt)
    throw new StartError(
      `The organization "${name}" is being deleted. Undo that first: rapport organization undelete --organization ${encodeId('org', id)}`,
    )
  if (ownerId === null)
    throw new StartError(`The organization "${name}" has no owner. Make a member an owner: rapport user promote`)
  return { id, ownerId }
}

/** Finds an organization in any state by its id, slug or name. Errors: `StartError`. */
export async function findAnyOrganization(database: Database, nameOrId: string): Promise<FoundOrganization> {
  const text = nameOrId.trim()
  const found = await findOrganizations(database, { id: decodeId('org', text), text })
  const [first] = found
  if (!first) throw new StartError(`There is no organization "${text}". Use its id, slug or name.`)
  if (!first.isExact && found.length > 1) {
    const ids = found.map(({ id }) => encodeId('org', id)).join(', ')
    throw new StartError(`Several organizations are called "${text}": ${ids}. Use the id.`)
  }
  return first
}

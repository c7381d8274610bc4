import type { Database } from '../platform/database/database.ts'
import { StartError } from '../platform/database/start-error.ts'
import { readId, showId } from '../platform/model/ids.ts'
import { findOrganizations } from '../identity/organizations/store.ts'

/** Finds an organization by its id, slug or name. Returns its uuid and that of its owner. Errors: `StartError`. */
export async function findOrganization(database: Database, nameOrId: string): Promise<{ id: string; ownerId: string }> {
  const text = nameOrId.trim()
  const found = await findOrganizations(database, { id: readId('org', text), text })
  const [first] = found
  if (!first) throw new StartError(`There is no organization "${text}". Use its id, slug or name.`)
  if (!first.isExact && found.length > 1) {
    const ids = found.map(({ id }) => showId('org', id)).join(', ')
    throw new StartError(`Several organizations are called "${text}": ${ids}. Use the id.`)
  }
  if (first.ownerId === null) throw new StartError(`The organization "${text}" has no owner.`)
  return { id: first.id, ownerId: first.ownerId }
}

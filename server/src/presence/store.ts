import type { Database, Transaction } from '../platform/database/database.ts'
import { sql } from '../platform/model/sql.ts'
import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'

/** Seconds after the last sign until somebody is no longer shown: two signs of a browser may be lost. */
const lifeSeconds = 40

/** A record by the singular noun of its resource and its uuid. */
export interface RecordName {
  resource: string
  id: string
}

/** A record that somebody has open. */
export interface Place extends RecordName {
  isEditing: boolean
}

/** What a browser, or a program of a person, has open. */
export interface Presence {
  organizationId: string
  sessionId: string
  userId: string
  places: readonly Place[]
}

export const keyOf = ({ resource, id }: RecordName): string => `${resource} ${id}`

/** Stores what a tab of the session has open now; nothing if it has left. */
export async function storePresence(
  transaction: Transaction,
  { sessionId, userId, tab, places }: Omit<Presence, 'organizationId'> & { tab: string },
): Promise<void> {
  const { organization } = transaction
  await transaction.query(
    places.length === 0
      ? sql`delete from presences
          where organization_id = ${organization} and session_id = ${sessionId}::uuid and tab = ${tab}`
      : sql`insert into presences (organization_id, session_id, tab, user_id, places, seen_at)
          values (${organization}, ${sessionId}::uuid, ${tab}, ${userId}::uuid, ${JSON.stringify(places)}::jsonb, now())
          on conflict (organization_id, session_id, tab) do update set
            places = excluded.places, seen_at = excluded.seen_at`,
  )
}

const isLive = sql`seen_at > now() - make_interval(secs => ${lifeSeconds}::integer)`

/** By organization, a text that changes with what its people have open; none for one where nobody has anything open. */
export async function readStates(
  database: Database,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.crossTenantQuery<{ organizationId: string; state: string }>(
    'show who is present',
    sql`select organization_id as "organizationId",
        md5(string_agg(concat_ws(' ', session_id, tab, places), ' ' order by session_id, tab)) as state
      from presences where organization_id = any(${organizationIds}::uuid[]) and ${isLive}
      group by organization_id`,
    'read states of presence',
  )
  return new Map(rows.map(({ organizationId, state }) => [organizationId, state]))
}

export async function readPresences(database: Database, organizationIds: readonly string[]): Promise<Presence[]> {
  return database.crossTenantQuery<Presence>(
    'show who is present',
    sql`select organization_id as "organizationId", session_id as "sessionId", user_id as "userId", places
      from presences where organization_id = any(${organizationIds}::uuid[]) and ${isLive}`,
    'read presences',
  )
}

/** Those who left without a sign. */
export const endedPresences: RetentionPolicy = {
  name: 'presences',
  table: 'presences',
  key: { session_id: 'uuid', tab: 'text' },
  since: 'seen_at',
  ttlSeconds: 60,
}

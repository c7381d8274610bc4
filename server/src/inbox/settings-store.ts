import type { Connection, Transaction } from '../platform/database/database.ts'
import { sql } from '../platform/model/sql.ts'
import { type Ways, waysOf, type WeekDay } from './kinds.ts'

/** How a person wants to hear of what concerns them. */
export interface InboxSettings {
  ways: Ways
  /** A time of day, `HH:MM`, in the person's time zone. */
  digestAt: string
  digestDays: readonly WeekDay[]
}

/** What a person has chosen, as it is stored. */
interface Row {
  userId: string
  ways: Partial<Ways>
  digestAt: string
  digestDays: WeekDay[]
}

const defaults: InboxSettings = {
  ways: waysOf({}),
  digestAt: '08:00',
  digestDays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
}

const readRows = ({ organization, query }: Connection, userIds: readonly string[]): Promise<Row[]> =>
  query<Row>(sql`
    select user_id as "userId", ways, digest_at as "digestAt", digest_days as "digestDays" from inbox_settings
    where organization_id = ${organization} and user_id = any(${userIds}::uuid[])`)

/** The settings of the person (uuid). */
export async function readSettings(db: Connection, userId: string): Promise<InboxSettings> {
  const [row] = await readRows(db, [userId])
  if (!row) return defaults
  return { ways: waysOf(row.ways), digestAt: row.digestAt, digestDays: row.digestDays }
}

/** The ways that each of these people (uuids) has chosen. */
export async function readWays(db: Connection, userIds: readonly string[]): Promise<(userId: string) => Ways> {
  const rows = await readRows(db, userIds)
  const chosen = new Map(rows.map(({ userId, ways }) => [userId, waysOf(ways)]))
  return (userId) => chosen.get(userId) ?? defaults.ways
}

/** What a person changes; a kind whose ways are null gets the default ones again. */
export interface SettingsChange {
  ways?: Readonly<Record<string, readonly string[] | null>>
  digestAt?: string
  digestDays?: readonly string[]
}

/** Changes the settings of the person (uuid). */
export async function writeSettings(
  { organization, query }: Transaction,
  userId: string,
  { ways = {}, digestAt, digestDays }: SettingsChange,
): Promise<void> {
  const chosen = JSON.stringify(Object.fromEntries(Object.entries(ways).filter(([, one]) => one !== null)))
  const cleared = Object.keys(ways).filter((kind) => ways[kind] === null)
  await query(sql`
    insert into inbox_settings as settings (organization_id, user_id, ways, digest_at, digest_days)
    values (${organization}, ${userId}::uuid, ${chosen}::jsonb, ${digestAt ?? defaults.digestAt}::text,
      ${digestDays ?? defaults.digestDays}::text[])
    on conflict (organization_id, user_id) do update set
      ways = (settings.ways || ${chosen}::jsonb) - ${cleared}::text[],
      digest_at = coalesce(${digestAt ?? null}::text, settings.digest_at),
      digest_days = coalesce(${digestDays ?? null}::text[], settings.digest_days)`)
}

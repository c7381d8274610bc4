import type { Database } from './database.ts'
import { sql } from '../model/sql.ts'
import { StartError } from './start-error.ts'

/** `required`: PostgreSQL must report that commits survive a crash. `assumed`: the operator vouches for it. */
export type Durability = 'required' | 'assumed'

/**
 * Checks that commits survive a crash of the server, in a session of the pool: a role, a database or the connection
 * string can change `synchronous_commit`. Returns warnings. Throws `StartError`.
 */
export async function checkDurability(database: Database, durability: Durability): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ name: string; setAt: string }>(
    'check the database',
    sql`select name, source as "setAt" from pg_settings
      where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`,
  )
  if (rows.length === 0) return []
  const names = joinWithAnd(rows.map(({ name }) => name))
  const problem = `PostgreSQL runs with ${names} off, so a crash can lose changes that were already confirmed.`
  if (durability === 'assumed') return [problem]
  const steps = rows.map(({ name, setAt }) => howToTurnOn(name, setAt))
  throw new StartError(
    `${problem} Turn ${rows.length > 1 ? 'them' : 'it'} on: ${steps.join('; ')}. If the storage is durable by other means, or losing data is acceptable, set DATABASE_DURABILITY=assumed.`,
  )
}

function howToTurnOn(name: string, setAt: string): string {
  if (setAt === 'client') return `remove ${name} from the options in DATABASE_URL`
  if (setAt === 'user') return `alter role <user> reset ${name}`
  if (setAt === 'global') return `alter role all reset ${name}`
  if (setAt === 'database') return `alter database <name> reset ${name}`
  if (setAt === 'database user') return `alter role <user> in database <name> reset ${name}`
  return `set ${name} = on in postgresql.conf, or in your provider’s settings`
}

const joinWithAnd = (names: readonly string[]): string =>
  [names.slice(0, -1).join(', '), names.at(-1)].filter((part) => part !== '').join(' and ')

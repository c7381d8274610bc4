import { organizationParameter, plannerVisible, raw, Sql, sql } from '../../model/sql.ts'
import type { Engine } from './engine.ts'
import { callOf, OrganizationStatements } from './organization-statements.ts'
import { single } from './single.ts'

/** Citus distributes these tables of organizations; the others are on its coordinator. */
export function citus(tables: readonly string[]): Engine {
  const distributed = new Set(tables)
  const isOnShard = ({ isCombinable, parts }: Sql) =>
    isCombinable &&
    parts.some((part) => [...part.matchAll(namedTables)].some(([, table = '']) => distributed.has(table)))
  return {
    name: 'citus',
    isDistributed: true,
    organizationOf: (id) => plannerVisible(organizationParameter(id)),
    combine: (organizationId) => (send) => new OrganizationStatements(organizationId, { isOnShard, send }),
    callOf: (given) => (given.statement instanceof Sql && isOnShard(given.statement) ? callOf(given) : undefined),
    sizeSql: `(${single.sizeSql} + (
      select coalesce(sum(result::bigint), 0) from run_command_on_workers('select ${single.sizeSql}') where success))`,
    tablesOnServers: (own) => [raw(own), tablesOfShards(own)],
    deadRowsOnServers,
  }
}

/** A statement uses only tables of one place, so one of them shows it. */
const namedTables = /\b(?:from|into|update|join)\s+"?(\w+)/g

/** The tables with a shard that the query finds on a worker: `contacts` for `contacts_102008`. */
const tablesOfShards = (own: string): Sql => sql`select distinct logicalrelid::text as name
  from run_command_on_workers(${`select coalesce(json_agg(name), '[]') from (${own}) grown`}) worker
    cross join json_array_elements_text(result::json) shard
    join pg_dist_partition on logicalrelid = to_regclass(regexp_replace(shard, '_[0-9]+$', ''))
  where success order by 1`

/** Of the coordinator, and the sums of the shards on each worker. */
const deadRowsOnServers = (own: string): string => `
  select * from (${own}) here
  union all (
    select logicalrelid::text, sum(dead), sum(shard.rows), max(cleaned)
    from run_command_on_workers($$select coalesce(json_agg(t), '[]') from (${own}) t$$) worker
      cross join json_to_recordset(worker.result::json) shard (name text, dead float8, rows float8, cleaned float8)
      join pg_dist_partition on logicalrelid = to_regclass(regexp_replace(name, '_[0-9]+$', ''))
    where success group by logicalrelid, nodename, nodeport
  )
  order by dead desc`

import type { Database } from '../../database/database.ts'
import { sql } from '../../model/sql.ts'
import type { RatePolicy } from './rate-limit.ts'

/** A bucket with at least this many tokens gives more of them than a service asks for: this share of what it has. */
const generous = { tokens: 128, share: 16 }

/** Seconds after which every unused bucket is full. */
const fullAfterSeconds = 120

export interface Grant {
  granted: number
  /** What is left for all services. */
  tokens: number
}

/** Takes at least `wanted` whole tokens from the bucket, or what it has. */
export async function takeTokens(
  database: Database,
  id: Buffer,
  { burst, perSecond }: RatePolicy,
  wanted: number,
): Promise<Grant> {
  const first = Math.min(burst, Math.max(wanted, burst >= generous.tokens ? Math.floor(burst / generous.share) : 0))
  const [grant] = await database.crossTenantQuery<Grant>(
    'limit requests',
    sql`insert into rate_limits as bucket (id, tokens, granted, used_at)
        values (${id}, ${burst - first}::float8, ${first}::int, now())
      on conflict (id) do update set (tokens, granted, used_at) = (
        select available - taken, taken, greatest(bucket.used_at, now()) from (
          select available, least(floor(available), greatest(${wanted}::int, case when available >= ${generous.tokens}
            then floor(available / ${generous.share}) else 0 end))::int as taken
          from (select least(${burst}::float8, bucket.tokens + ${perSecond}::float8
            * greatest(0, extract(epoch from now() - bucket.used_at)::float8)) as available) refilled) charged)
      returning tokens, granted`,
    'take tokens of a rate limit',
  )
  if (!grant) throw new Error('an upsert returns its row')
  return grant
}

/** Tokens to give back, by the id of their bucket. */
export type UnusedTokens = ReadonlyMap<Buffer, number>

export async function returnTokens(database: Database, unused: UnusedTokens): Promise<void> {
  await database.crossTenantQuery(
    'limit requests',
    sql`with unused as (select * from unnest(${[...unused.keys()]}::bytea[], ${[...unused.values()]}::float8[]) as unused (id, tokens)),
      -- In one order, so that services do not wait for each other in a circle.
      locked as (select id from rate_limits where id in (select id from unused) order by id for update)
      update rate_limits set tokens = rate_limits.tokens + unused.tokens from unused join locked using (id)
      where rate_limits.id = unused.id`,
  )
}

export async function deleteFullBuckets(database: Database): Promise<void> {
  await database.crossTenantQuery(
    'limit requests',
    sql`delete from rate_limits where id in (
      select id from rate_limits where used_at < now() - make_interval(secs => ${fullAfterSeconds})
      order by id for update skip locked)`,
  )
}

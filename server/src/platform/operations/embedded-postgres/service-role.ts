import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { clusterConnection } from './cluster.ts'
import { connect } from '../../database/connect.ts'
import { sqlState } from '../../database/failures.ts'

export const databaseName = 'rapport'

/** The role of the service and the commands: it owns the database and is not a superuser. */
export const serviceUser = 'rapport_service'

/** The connection of the service to a cluster started by `startPostgres`. */
export const serviceConnection = (socketFolder: string, database = databaseName): pg.ClientConfig => ({
  ...clusterConnection(socketFolder, database),
  user: serviceUser,
})

export const isRoleMissing = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '28000' && error.message.includes(`"${serviceUser}"`)

/** Number of attempts while others use the tables, and milliseconds between them. */
const attempts = 20
const pause = 250

/**
 * Creates the database and its owner, or takes over a database of the superuser (from earlier versions). The role is
 * created last, so a cluster that has it is complete. Safe in several processes.
 */
export async function makeServiceRole(socketFolder: string): Promise<void> {
  await makeDatabase(clusterConnection(socketFolder))
  const client = await connect(clusterConnection(socketFolder, databaseName))
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        // One message, so one transaction.
        return void (await client.query(makeRole))
      } catch (error) {
        // A service of an earlier version may be using the tables.
        if (!['55P03', '40P01'].includes(sqlState(error) ?? '') || attempt === attempts) throw error
        await delay(pause)
      }
    }
  } finally {
    await client.end()
  }
}

async function makeDatabase(connection: pg.ClientConfig): Promise<void> {
  const client = await connect(connection)
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [databaseName])
    if (!rowCount) await client.query(`create database ${databaseName}`)
  } catch (error) {
    // Another process was faster.
    if (!['42P04', '23505'].includes(sqlState(error) ?? '')) throw error
  } finally {
    await client.end()
  }
}

const superuserId = 10

/** Our relations and routines that the superuser owns; objects of extensions keep their owner. */
const ownedBySuperuser = `
  select format('alter table %s owner to ${serviceUser}', class.oid::regclass) as command
  from pg_class class where relnamespace = 'public'::regnamespace and relowner = ${superuserId}
    and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = class.oid and deptype in ('e', 'a', 'i'))
  union all
  select format('alter routine %s owner to ${serviceUser}', routine.oid::regprocedure)
  from pg_proc routine where pronamespace = 'public'::regnamespace and proowner = ${superuserId}
    and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = routine.oid and deptype = 'e')
  union all
  select format('alter type %s owner to ${serviceUser}', type.oid::regtype)
  from pg_type type where typnamespace = 'public'::regnamespace and typowner = ${superuserId} and typtype in ('e', 'd')
    and not exists (select from pg_depend where classid = 'pg_type'::regclass and objid = type.oid and deptype = 'e')`

/** `pg_read_all_stats` shows an administrator's sessions to the doctor. The lock number is arbitrary. */
const makeRole = `do $$
declare command text;
begin
  perform set_config('lock_timeout', '3s', true), pg_advisory_xact_lock(2026112102);
  if exists (select from pg_roles where rolname = '${serviceUser}') then return; end if;
  create role ${serviceUser} login nosuperuser nocreatedb nocreaterole noreplication;
  grant pg_read_all_stats to ${serviceUser};
  alter database ${databaseName} owner to ${serviceUser};
  for command in ${ownedBySuperuser} loop execute command; end loop;
end $$`

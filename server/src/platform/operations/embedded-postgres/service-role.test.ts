import type pg from 'pg'
import { expect, test } from 'vitest'
import { newDataDirectory, query } from '../../../../test/data-directory.ts'
import { migrationsFolder } from '../../../release.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from '../../database/migrate.ts'

/** What the superuser owns in the schema, except for the extension's objects. */
const ofSuperuser = (connection: pg.ClientConfig) =>
  query(
    connection,
    `select oid::regclass::text as name from pg_class where relnamespace = 'public'::regnamespace and relowner = 10
     union all select oid::regprocedure::text from pg_proc p where pronamespace = 'public'::regnamespace and proowner = 10
       and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
     union all select oid::regtype::text from pg_type t where typnamespace = 'public'::regnamespace and typowner = 10
       and not exists (select from pg_depend where classid = 'pg_type'::regclass and objid = t.oid and deptype = 'e')`,
  )

const whoAmI = `select current_user as user, rolsuper as super, rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as more,
  (select pg_get_userbyid(datdba) from pg_database where datname = current_database()) as owner
  from pg_roles where rolname = current_user`
const serviceRole = [{ user: 'rapport_service', super: false, more: false, owner: 'rapport_service' }]

const sessions = `select distinct usename as user from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`

test('the service and the commands use a role that owns the database and is not a superuser', async (context) => {
  const place = await newDataDirectory(context)
  const service = await openEmbedded(place)
  await migrate(service.connection, { folder: migrationsFolder, log: () => undefined })
  expect(await query(service.connection, whoAmI)).toEqual(serviceRole)
  expect(await ofSuperuser(service.connection)).toEqual([])
  expect(await query(service.connection, sessions)).toEqual([{ user: 'rapport_service' }])
  const command = await openEmbedded({ ...place, purpose: 'rapport user' })
  expect(command.attached).toBe(true)
  expect(await query(command.connection, whoAmI)).toEqual(serviceRole)
  await command.close()
  for (const statement of [
    'create role another',
    'alter system set fsync = off',
    `copy (select 1) to program 'true'`,
    `select pg_read_file('/etc/passwd')`,
    'create extension dblink',
  ]) {
    await expect(query(service.connection, statement), statement).rejects.toThrow(/permission denied|must be superuser/)
  }
  await service.close()
})

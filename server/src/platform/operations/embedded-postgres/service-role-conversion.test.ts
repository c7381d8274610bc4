import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, type TestContext } from 'vitest'
import { newDataDirectory, openTask, query } from '../../../../test/data-directory.ts'
import { tableChecksums, schemaOf } from '../../../../test/backups.ts'
import { run } from '../../../../test/command-line.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'
import { migrationsFolder } from '../../../release.ts'
import { findBinaries } from './binaries.ts'
import { clusterConnection, initializeCluster, startPostgres } from './cluster.ts'
import { connect } from '../../database/connect.ts'
import { type DataPaths, prepareDataFolder } from './data-folder.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from '../../database/migrate.ts'
import { makeServiceRole, serviceConnection } from './service-role.ts'

let processes: ProcessStarter
let template: Awaited<ReturnType<typeof makeTemplate>>
const cleanups: (() => unknown)[] = []
beforeAll(async () => {
  processes = await processStarter()
  template = await makeTemplate({ onTestFinished: (clean) => void cleanups.push(clean as () => unknown) })
}, 60_000)
afterAll(async () => {
  await processes.close()
  for (const clean of cleanups) await clean()
})

const startOn = async ({ cluster, sockets, log }: DataPaths) =>
  startPostgres({
    binaries: await findBinaries(),
    folder: cluster,
    socketFolder: sockets,
    logFile: log,
    settings: { fsync: 'off' },
  })

/** A cluster as earlier versions created it: everything belongs to the superuser. */
async function makeTemplate(context: Pick<TestContext, 'onTestFinished'>) {
  const { dataFolder, rootsFolder } = await newDataDirectory(context)
  const paths = await prepareDataFolder(dataFolder, rootsFolder)
  await initializeCluster({ binaries: await findBinaries(), folder: paths.cluster, sync: false })
  const server = await startOn(paths)
  await query(clusterConnection(paths.sockets), 'create database rapport')
  const connection = clusterConnection(paths.sockets, 'rapport')
  await migrate(connection, { folder: migrationsFolder, log: () => undefined })
  await query(
    connection,
    `insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme');
     create table of_someone (id serial primary key);
     create view of_others as select id from of_someone;
     create type of_colours as enum ('red')`,
  )
  const before = { contents: await tableChecksums(connection), schema: await schemaOf(connection) }
  await server.stop()
  return { cluster: paths.cluster, before }
}

/** A data folder of an earlier version; copied, because creating one takes long. */
async function formerPlace(context: Pick<TestContext, 'onTestFinished'>) {
  const place = await newDataDirectory(context)
  const paths = await prepareDataFolder(place.dataFolder, place.rootsFolder)
  await promisify(execFile)('cp', ['-a', template.cluster, paths.cluster])
  return { place, places: paths, before: template.before }
}

/** The same, with a session of an earlier service that has locked a table. */
async function formerService(context: Pick<TestContext, 'onTestFinished'>) {
  const { place, places: paths } = await formerPlace(context)
  const server = await startOn(paths)
  const connection = clusterConnection(paths.sockets, 'rapport')
  const session = await connect(connection)
  await session.query('begin; lock table organizations in access share mode')
  const isWaitedFor = async () =>
    (await query(connection, `select from pg_stat_activity where wait_event_type = 'Lock'`)).length > 0
  return { place, places: paths, server, connection, session, isWaitedFor }
}

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

test('the next start gives that role a data folder of an earlier version, with all its contents', async (context) => {
  const { place, places: paths, before } = await formerPlace(context)
  const service = await openEmbedded(place)
  expect(await query(service.connection, whoAmI)).toEqual(serviceRole)
  expect(await ofSuperuser(service.connection)).toEqual([])
  expect(await tableChecksums(service.connection)).toEqual(before.contents)
  expect(await schemaOf(service.connection)).toEqual(before.schema)
  // A later migration changes tables, adds functions and uses the extension.
  await query(
    service.connection,
    `create extension if not exists pg_trgm; alter table organizations add column later text;
     drop view of_others; drop table of_someone; create table more (id int)`,
  )
  // The earlier version still works: it connects as the superuser.
  expect(await query(clusterConnection(paths.sockets, 'rapport'), 'select name from organizations')).toHaveLength(1)
  await service.close()
})

test.each([['doctor'], ['backup'], ['migrate']])(
  '%s can be the first command on a data folder of an earlier version, and a restore works after it',
  async (first) => {
    const { place } = await formerPlace({ onTestFinished })
    const environment = { DATA_DIR: place.dataFolder, SECRET: 'a secret that is long enough for a test' }
    const file = join(place.home, 'first.backup')
    const commands = [
      first === 'backup' ? [first, file] : [first],
      ['backup', '--force', file],
      ['restore', '--force', file],
    ]
    for (const words of commands) {
      const ended = await run(words, { environment })
      expect(ended.code, ended.errors + ended.output).toBe(0)
    }
  },
  60_000,
)

test('several processes that find an earlier data folder convert it once, even next to a running service of that version', async (context) => {
  const { place, server, session, isWaitedFor } = await formerService(context)
  const opening = [1, 2, 3].map(() => processes.start(openTask({ ...place, purpose: 'rapport migrate' })))
  await until('a session waits for the table', isWaitedFor)
  await session.query('commit')
  await session.end()
  for (let open = opening; open.length > 0;) {
    const first = await Promise.race(open.map(async (one) => ({ one, outcome: await one.outcome })))
    expect(first.outcome.event, JSON.stringify(first.one.events)).toBe('open')
    first.one.child.kill('SIGTERM')
    await first.one.exited
    open = open.filter((one) => one !== first.one)
  }
  await server.exited
  const next = await openEmbedded(place)
  expect(await query(next.connection, whoAmI)).toEqual(serviceRole)
  await next.close()
}, 60_000)

test('a start that is killed while converting leaves the folder unchanged, and the next one repeats it', async (context) => {
  const { place, places: paths, server, connection, session, isWaitedFor } = await formerService(context)
  const killed = processes.start(openTask(place))
  killed.outcome.catch(() => undefined)
  await until('it waits for the table', isWaitedFor)
  killed.child.kill('SIGKILL')
  await killed.exited
  await session.query(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`)
  await session.end()
  await expect(connect(serviceConnection(paths.sockets))).rejects.toThrow('role "rapport_service" does not exist')
  expect(await tableChecksums(connection)).toEqual(template.before.contents)
  await makeServiceRole(paths.sockets)
  expect(await query(serviceConnection(paths.sockets), whoAmI)).toEqual(serviceRole)
  expect(await ofSuperuser(connection)).toEqual([])
  await server.stop()
}, 60_000)

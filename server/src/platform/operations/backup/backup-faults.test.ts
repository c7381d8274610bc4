import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createHash, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../database/connect.ts'
import { migrate } from '../../database/migrate.ts'
import { trailer, trailerLength } from './format.ts'
import { checkSnapshot } from './read.ts'
import { restoreSnapshot, type RestoreProgress } from './restore.ts'
import { takeSnapshotFile } from './take.ts'
import { migrationsFolder, version } from '../../../release.ts'
import { createBackupFixture, restoredSchemaOf, tableChecksums, schemaOf } from '../../../../test/backups.ts'
import { waitForExit } from '../../../../test/command-line.ts'
import { query } from '../../../../test/data-directory.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'

let source: TestDatabase
let fixture: Awaited<ReturnType<typeof createBackupFixture>>
let file: string
const log = () => undefined

const organization = `insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme-' || gen_random_uuid())`

beforeAll(async () => {
  source = await createDatabase()
  fixture = await createBackupFixture()
  file = fixture.file('small')
  await query(source.connection, organization)
  await query(source.connection, `insert into instance values ('secret_fingerprint', 'of another one')`)
  await takeSnapshotFile(file, { connection: source.connection, migrationsFolder, version: version() })
})
afterAll(async () => {
  await fixture.close()
  await source.drop()
})

const withTarget = async (use: (target: TestDatabase) => Promise<void>): Promise<void> => {
  const target = await createDatabase()
  await use(target).finally(() => target.drop())
}

/** Writes a copy of the backup with changed content and a valid trailer. */
async function rewriteBackup(change: (text: string) => string): Promise<string> {
  const bytes = await readFile(file)
  const body = gzipSync(change(gunzipSync(bytes.subarray(0, bytes.length - trailerLength)).toString()))
  const rewrittenFile = fixture.file(`rewritten-${randomUUID()}`)
  const digest = createHash('sha256').update(body).digest('hex')
  await writeFile(rewrittenFile, Buffer.concat([body, trailer(body.length, digest)]))
  return rewrittenFile
}

test('a file that is truncated anywhere, or in which any byte is changed, is rejected', async () => {
  const bytes = await readFile(file)
  const broken = fixture.file('broken')
  const change = fc.record({ at: fc.nat(bytes.length - 1), flip: fc.integer({ min: 1, max: 255 }), cut: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(change, async ({ at, flip, cut }) => {
      const changed = Buffer.from(cut ? bytes.subarray(0, at) : bytes)
      if (!cut) changed[at] = (changed[at] ?? 0) ^ flip
      await writeFile(broken, changed)
      await expect(checkSnapshot(broken)).rejects.toThrow(/damaged or truncated|not a Rapport backup/)
    }),
    { numRuns: 300 },
  )
  await writeFile(broken, Buffer.concat([bytes, Buffer.from('more')]))
  await expect(checkSnapshot(broken)).rejects.toThrow('damaged')
})

test('a disk that does not return what was written is found by --verify, and leaves no file', async () => {
  const damaged = fixture.file('damaged')
  const large = await createDatabase()
  await query(
    large.connection,
    `insert into organizations (id, name, slug) select gen_random_uuid(), md5(n::text), md5(n::text || 'slug') from generate_series(1, 20000) n`,
  )
  let isDamaged = false
  // Changes a byte of what has been written already, as a failing disk would.
  const onProgress = () => {
    const { size } = statSync(`${damaged}.part`)
    if (isDamaged || size < 100_000) return
    const part = openSync(`${damaged}.part`, 'r+')
    writeSync(part, Buffer.from([0]), 0, 1, 50_000)
    closeSync(part)
    isDamaged = true
  }
  const options = { connection: large.connection, migrationsFolder, version: version(), onProgress }
  await expect(takeSnapshotFile(damaged, { ...options, verify: true })).rejects.toThrow(
    'reading it back returned something else. It was deleted.',
  )
  expect(isDamaged).toBe(true)
  expect((await readdir(fixture.home)).filter((name) => name.startsWith('damaged'))).toEqual([])
  expect(await takeSnapshotFile(damaged, { ...options, verify: true })).toMatchObject({
    rows: (await checkSnapshot(damaged)).rows,
  })
  await large.drop()
})

test(
  'a damaged file, a newer format, and a newer or unreleased schema leave the database unchanged',
  () =>
    withTarget(async (target) => {
      await query(target.connection, organization)
      const before = await tableChecksums(target.connection)
      await writeFile(fixture.file('cut'), (await readFile(file)).subarray(0, 500))
      const format = await rewriteBackup((text) => text.replace('"formatVersion":1', '"formatVersion":2'))
      const migration = '"migrations":[{"version":9999,"name":"9999_newer.sql","checksum":"x"},'
      const newer = await rewriteBackup((text) => text.replace('"migrations":[', migration))
      const unreleased = await rewriteBackup((text) => text.replace('"0001_basics.sql"', '"0001_foundation.sql"'))
      const refusals: [string, RegExp][] = [
        [fixture.file('cut'), /damaged or truncated/],
        [format, /format 2.*newer version/],
        [newer, /newer Rapport.*9999_newer\.sql/],
        [unreleased, /The backup was made by a Rapport from before 0\.1\.0, which no release can restore/],
      ]
      await Promise.all(
        refusals.map(async ([name, message]) => {
          const result = await fixture.restore(target, name, '--force')
          expect(result.code).toBe(1)
          expect(result.errors).toMatch(message)
        }),
      )
      expect(await tableChecksums(target.connection)).toEqual(before)
    }),
  120_000,
)

test('a table name that is not in the schema is rejected before it is used in a statement', () =>
  withTarget(async (target) => {
    const invalidFile = await rewriteBackup((text) =>
      text.replaceAll('"organizations"', '"organizations; drop table users"'),
    )
    const checked = await checkSnapshot(invalidFile)
    const restoring = restoreSnapshot(invalidFile, { connection: target.connection, checked, migrationsFolder })
    await expect(restoring).rejects.toThrow('The tables of the backup differ')
  }))

test(
  'existing data is replaced only with --force, and a different secret is reported before any change',
  () =>
    withTarget(async (target) => {
      await query(target.connection, organization.replace('Acme', 'Mine'))
      const names = () => query(target.connection, 'select name from organizations')
      const [other, withoutForce] = await Promise.all([
        fixture.restore(target, file, '--force'),
        fixture.restore(target, file, '--new-secret'),
      ])
      expect(other.code).toBe(1)
      expect(other.errors).toMatch(/a different secret than the one in SECRET.*--new-secret/)
      expect(withoutForce.code).toBe(2)
      expect(withoutForce.errors).toMatch(/contains organizations.*--force/)
      expect(await names()).toEqual([{ name: 'Mine' }])
      expect(await fixture.restore(target, file, '--new-secret', '--force')).toMatchObject({ code: 0 })
      expect(await names()).toEqual([{ name: 'Acme' }])
      expect(await query(target.connection, `select from instance where name = 'secret_fingerprint'`)).toEqual([])
    }),
  120_000,
)

test('a restore is rejected while a service is connected', () =>
  withTarget(async (target) => {
    const service = await connect({ ...target.connection, application_name: 'rapport' })
    const refused = await fixture.restore(target, file, '--new-secret', '--force')
    expect(refused.code).toBe(1)
    expect(refused.errors).toContain('Stop it first')
    await service.end()
  }))

test('foreign tables are neither backed up nor changed by a restore; objects that depend on our tables prevent it', () =>
  withTarget(async (target) => {
    await query(target.connection, 'create table theirs as select 42 as answer')
    const backup = await takeSnapshotFile(fixture.file('theirs'), {
      connection: target.connection,
      migrationsFolder,
      version: version(),
    })
    expect(backup.otherTables).toEqual(['theirs'])
    const checked = await checkSnapshot(file)
    const stages: string[] = []
    const onProgress = ({ stage, item: at }: RestoreProgress) => stages.push(stage, `${stage} ${at}`)
    const restore = () =>
      restoreSnapshot(file, { connection: target.connection, checked, migrationsFolder, onProgress })
    await restore()
    expect(stages).toEqual(
      expect.arrayContaining(['Restoring', 'Comparing organizations', 'Building organizations_pkey']),
    )
    expect(await query(target.connection, 'select answer from theirs')).toEqual([{ answer: 42 }])
    await query(target.connection, 'create view report as select name from organizations')
    await expect(restore()).rejects.toThrow(/depends on them[^]*report/)
    expect(await query(target.connection, 'select name from report')).toEqual([{ name: 'Acme' }])
  }))

test('a backup from an older version is restored into its own schema, which is then migrated', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-older-'))
  const [old, target] = await Promise.all([createEmptyDatabase(), createDatabase()])
  try {
    const files = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort()
    const older = files.slice(0, 7)
    for (const name of older) await cp(join(migrationsFolder, name), join(folder, name))
    await migrate(old.connection, { folder, log })
    await query(old.connection, organization)
    const name = fixture.file('older')
    await takeSnapshotFile(name, { connection: old.connection, migrationsFolder, version: '0.0.9' })
    const restored = await fixture.restore(target, name, '--json')
    expect(restored, restored.errors).toMatchObject({ code: 0 })
    expect(JSON.parse(restored.output)).toMatchObject({ applied: files.slice(7) })
    expect(await query(target.connection, 'select name from organizations')).toEqual([{ name: 'Acme' }])
    expect(await restoredSchemaOf(target.connection)).toEqual(await schemaOf(source.connection))
  } finally {
    await Promise.all([old.drop(), target.drop(), rm(folder, { recursive: true })])
  }
})

test(
  'a restore that is killed after loading has changed nothing, and the next one succeeds',
  () =>
    withTarget(async (target) => {
      await query(target.connection, organization.replace('Acme', 'Mine'))
      const before = await tableChecksums(target.connection)
      // Index builds on a table with rows wait for the test.
      await query(
        target.connection,
        `create schema watch;
       create function watch.wait() returns event_trigger language plpgsql as $$ begin
         if to_regclass('public.organizations') is null then
           return;
         end if;
         if exists (select from public.organizations) then
           perform pg_advisory_xact_lock(42);
         end if;
       end $$;
       create event trigger watch on ddl_command_end when tag in ('CREATE INDEX') execute function watch.wait()`,
      )
      const holder = await connect(target.connection)
      await holder.query('select pg_advisory_lock(42)')
      const child = fixture.launch(target, 'restore', file, '--force', '--new-secret')
      const result = waitForExit(child)
      const restoring = `select wait_event_type as waits from pg_stat_activity where application_name = 'rapport restore' and datname = current_database()`
      await until(
        'it builds an index',
        async () => (await query(target.connection, restoring))[0]?.['waits'] === 'Lock',
        40_000,
      )
      child.kill('SIGKILL')
      await result
      await holder.end()
      await until('its session has ended', async () => (await query(target.connection, restoring)).length === 0, 40_000)
      await query(target.connection, 'drop event trigger watch')
      expect(await tableChecksums(target.connection)).toEqual(before)
      expect(await fixture.restore(target, file, '--force', '--new-secret')).toMatchObject({ code: 0 })
      expect(await query(target.connection, 'select name from organizations')).toEqual([{ name: 'Acme' }])
    }),
  120_000,
)

test('a foreign sequence owned by one of our tables is rejected with an explanation, any other is not', () =>
  withTarget(async (target) => {
    const take = (name: string) =>
      takeSnapshotFile(fixture.file(name), { connection: target.connection, migrationsFolder, version: version() })
    await query(target.connection, 'create table users_of_theirs (id serial)')
    await expect(take('unowned')).resolves.toMatchObject({ otherTables: ['users_of_theirs'] })
    await query(target.connection, 'create sequence count_of_users owned by users.name')
    await expect(take('owned')).rejects.toThrow(/has a sequence .*: count_of_users\. Nothing was changed/)
  }))

test('a format version that never existed is not reported as newer, and the file is closed', async () => {
  const fill = () => Array.from({ length: 40_000 }, () => randomUUID()).join('')
  const invalidFile = await rewriteBackup((text) => text.replace('"formatVersion":1', '"formatVersion":0') + fill())
  await expect(checkSnapshot(invalidFile)).rejects.toThrow(/format 0.*No version of Rapport writes this/)
  const openFiles = async () => {
    const names = await readdir('/proc/self/fd').catch(() => [])
    return Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  }
  await until('the file is closed', async () => !(await openFiles()).includes(invalidFile))
})

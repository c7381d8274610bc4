import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, test, type TestContext } from 'vitest'
import { trailerLength } from '../src/platform/operations/backup/format.ts'
import { checkSnapshot, SnapshotReader } from '../src/platform/operations/backup/read.ts'
import { contentsOf, createBackupFixture } from './backups.ts'
import { createCitusDatabase } from './citus-database.ts'
import { query } from './data-directory.ts'
import { isDistributed } from './engines.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from './postgres.ts'

describe.skipIf(!isDistributed())('on Citus (TEST_ENGINE=citus and CITUS_FILES)', () => {
  test('a backup shows each organization and the directory at one moment while services write', async (context) => {
    const { source, fixture } = await filledDatabase(context)
    const organizations = (await query(source.connection, 'select id from organizations')).map(({ id }) => String(id))
    const [writers, stop] = startWriters(source, organizations)
    const file = fixture.file('busy')
    let seen = 0
    for (let number = 0; number < 6 || seen < organizations.length; number++) {
      expect(await fixture.backUp(source, file, '--force')).toMatchObject({ code: 0 })
      const [roles, teams, events] = await Promise.all(
        ['roles', 'teams', 'audit_events'].map((table) => countByOrganization(file, table)),
      )
      seen = Object.keys(roles ?? {}).length
      expect(teams).toEqual(roles)
      expect(events).toEqual(roles)
    }
    stop()
    expect(Math.min(...(await Promise.all(writers)))).toBeGreaterThan(20)
  }, 300_000)

  test('a backup is restored to a single PostgreSQL, to new and to existing Citus databases', async (context) => {
    const { source, fixture } = await filledDatabase(context)
    const file = fixture.file('filled')
    expect(await fixture.backUp(source, file)).toMatchObject({ code: 0 })
    const { instance: _, ...before } = await contentsOf(source)
    const targets = [await createEmptyDatabase(), await createCitusDatabase(), source]
    context.onTestFinished(async () => {
      for (const target of targets) await target.drop()
    })
    for (const target of targets) {
      const restored = await fixture.restore(target, file, '--force')
      expect(restored).toMatchObject({ code: 0 })
      expect(restored.errors.includes('run `node bin/rapport.js migrate --distribute`')).toBe(target !== targets[0])
      expect(await contentsOf(target)).toMatchObject(before)
      if (target === targets[0]) continue
      expect(await fixture.run(target, 'migrate', '--distribute')).toMatchObject({ code: 0 })
      expect(await contentsOf(target)).toMatchObject(before)
    }
  }, 300_000)
})

/** Distributed, with eight organizations. */
async function filledDatabase(context: TestContext) {
  const [source, fixture] = await Promise.all([createDatabase(), createBackupFixture()])
  context.onTestFinished(async () => {
    await fixture.close()
    await source.drop()
  })
  await query(
    source.connection,
    `insert into organizations (id, name, slug)
     select gen_random_uuid(), 'Acme', 'acme-' || number from generate_series(1, 8) number`,
  )
  await query(
    source.connection,
    `insert into pipelines (organization_id, id, name) select id, gen_random_uuid(), 'First' from organizations`,
  )
  return { source, fixture }
}

/**
 * Four connections that write, in each transaction, a role, a team and an event of an organization. Resolve to the
 * number of transactions when they are stopped.
 */
function startWriters({ connection }: TestDatabase, organizations: readonly string[]): [Promise<number>[], () => void] {
  let isStopped = false
  const write = async (start: number) => {
    const client = new pg.Client(connection)
    await client.connect()
    let count = 0
    for (; !isStopped; count++) {
      const organization = organizations[(start + count) % organizations.length]
      const id = randomUUID()
      await client.query('begin')
      await client.query('insert into roles (organization_id, id, name) values ($1, $2, $3)', [organization, id, id])
      await client.query('insert into teams (organization_id, id, name) values ($1, $2, $3)', [organization, id, id])
      await client.query(
        `insert into audit_events (organization_id, id, action, actor_kind) values ($1, $2, 'test', 'command')`,
        [organization, id],
      )
      await client.query('commit')
    }
    await client.end()
    return count
  }
  return [[0, 2, 4, 6].map(write), () => (isStopped = true)]
}

async function countByOrganization(file: string, table: string): Promise<Record<string, number>> {
  const { header, bytes } = await checkSnapshot(file)
  const reader = new SnapshotReader(file, { length: bytes - trailerLength })
  const counts: Record<string, number> = {}
  await reader.header()
  for await (const { name, columns, rows } of reader.tables(header)) {
    const organization = columns.indexOf('organization_id')
    for await (const chunk of rows) {
      if (name !== table) continue
      for (const row of chunk.toString().split('\n').filter(Boolean)) {
        const id = String(row.split('\t')[organization])
        counts[id] = (counts[id] ?? 0) + 1
      }
    }
  }
  reader.close()
  return counts
}

import { beforeAll, afterAll, describe, expect, test } from 'vitest'
import { createBackupFixture } from './backups.ts'
import { type CitusDatabase, createCitusDatabase } from './citus-database.ts'
import { query } from './data-directory.ts'
import { isDistributed } from './engines.ts'
import type { Json } from './service.ts'

describe.skipIf(!isDistributed())('on Citus (TEST_ENGINE=citus and CITUS_FILES)', () => {
  let database: CitusDatabase
  let fixture: Awaited<ReturnType<typeof createBackupFixture>>
  beforeAll(async () => {
    ;[database, fixture] = await Promise.all([createCitusDatabase({ hasWorkers: false }), createBackupFixture()])
  }, 60_000)
  afterAll(async () => {
    await fixture.close()
    await database.drop()
  })

  const examine = async (): Promise<Json> => {
    const { findings } = JSON.parse((await fixture.run(database, 'doctor', '--json')).output) as Json
    return Object.fromEntries(findings.map((finding: Json) => [finding.name, finding]))
  }
  const insertTeam = () =>
    query(
      database.connection,
      `with made as (insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme') returning id)
       insert into teams (organization_id, id, name) select id, gen_random_uuid(), 'First' from made`,
    )

  test('the doctor reports where the records are, and a lost worker, without which commands still open the database', async () => {
    expect(await fixture.run(database, 'migrate')).toMatchObject({ code: 0 })
    expect(await examine()).not.toHaveProperty('cluster')
    await insertTeam()
    await database.addWorkers()
    const before = await examine()
    expect(before.cluster).toMatchObject({ state: 'note', advice: expect.stringContaining('migrate --distribute') })
    await query(database.connection, 'create table distribution_foreign_keys ("of" text, name text, definition text)')
    expect((await examine()).cluster).toMatchObject({ state: 'wrong', message: expect.stringContaining('interrupted') })
    await query(database.connection, 'drop table distribution_foreign_keys')
    expect(await fixture.run(database, 'migrate', '--distribute')).toMatchObject({ code: 0 })
    const after = await examine()
    expect(after.cluster).toMatchObject({ state: 'ok', message: expect.stringContaining('over 2 workers') })
    for (const name of ['schema', 'indexes', 'imports', 'retention', 'tables', 'notes'])
      expect(after[name]).toMatchObject({ state: 'ok' })
    const megabytes = (finding: Json) => Number(/(\d+) MB in total/.exec(finding.message)?.[1])
    expect(megabytes(after.tables)).toBeGreaterThan(megabytes(before.tables) * 2)

    await query(
      database.connection,
      `update pg_dist_node set nodeport = 1 where nodeid = (select max(nodeid) from pg_dist_node)`,
    )
    const lost = await examine()
    expect(lost.cluster).toMatchObject({
      state: 'wrong',
      message: expect.stringMatching(/^workers cannot be reached: .+:1$/),
    })
    expect(await fixture.run(database, 'migrate')).toMatchObject({ code: 0 })
  }, 120_000)
})

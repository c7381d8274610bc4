import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, type TestContext } from 'vitest'
import { startConnectionProxy } from '../../test/connection-proxy.ts'
import { databaseUrlOf, launch, run, waitForExit } from '../../test/command-line.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'

const explained = /The secret of this database is missing: .*no new secret was stored\. Copy it from where you store it/

async function folderFor(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-secretless-'))
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a start without the secret of its database is refused before one is created', async (context) => {
  const database = await createDatabase()
  context.onTestFinished(() => database.drop())
  const folder = await folderFor(context)
  const environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: join(folder, 'data'), PORT: '0' }
  expect(await run(['migrate'], { environment })).toMatchObject({ code: 0 })
  expect(await readdir(environment.DATA_DIR)).toEqual(['secret'])
  await rm(join(environment.DATA_DIR, 'secret'))
  const refused = await waitForExit(launch(['start'], { environment }))
  expect(refused).toMatchObject({ code: 3, errors: expect.stringMatching(explained) })
  expect(await readdir(environment.DATA_DIR)).toEqual([])
  const examined = await run(['doctor'], { environment })
  expect(examined.output).toMatch(/^WRONG {2}secret: neither SECRET nor the file/m)
})

test('a start while the database is unavailable stores no secret either, once the database has another one', async (context) => {
  const database = await createDatabase()
  context.onTestFinished(() => database.drop())
  const folder = await folderFor(context)
  const environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: join(folder, 'data'), PORT: '0' }
  expect(await run(['migrate'], { environment: { ...environment, DATA_DIR: join(folder, 'first') } })).toMatchObject({
    code: 0,
  })
  const proxy = await startConnectionProxy(database)
  context.onTestFinished(() => proxy.close())
  proxy.goOffline()
  const child = launch(['start'], { environment: { ...environment, DATABASE_URL: databaseUrlOf(proxy) } })
  context.onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stderr?.on('data', (data: Buffer) => (printed += data.toString()))
  const ended = waitForExit(child)
  const isWaiting = () => printed.includes('It is tried again')
  await until('it waits for the database', () => child.exitCode !== null || isWaiting(), 45_000)
  const lines = () =>
    printed
      .split('\n')
      .filter((line) => line.includes('cannot be reached'))
      .map((line) => JSON.parse(line))
  const refused = proxy.refused()
  await until('it has tried twice more', () => proxy.refused() >= refused + 2)
  expect(lines()).toEqual([expect.objectContaining({ level: 50 })])
  proxy.goOnline()
  expect(await ended).toMatchObject({ code: 3, errors: expect.stringMatching(explained) })
  expect(await readdir(environment.DATA_DIR)).toEqual([])
})

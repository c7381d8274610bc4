import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { newId, encodeId } from '../src/platform/model/ids.ts'
import { generateTriggerSecret } from '../src/intake/imports/trigger.ts'
import { createDatabase } from './postgres.ts'
import { recording, takeRecordedStatements } from './recorded-statements.ts'
import { serviceProcesses } from './service-process.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))

beforeEach(() => void takeRecordedStatements())

test('each statement of another process is recorded once, however its messages are divided', async () => {
  const { connection, drop } = await createDatabase()
  const script = `
    import pg from 'pg'
    import { from } from 'pg-copy-streams'
    import { finished } from 'node:stream/promises'
    const client = new pg.Client({ ...${JSON.stringify(connection)}, application_name: 'recorded' })
    await client.connect()
    for (let time = 0; time < 3; time++) {
      await client.query('select 1 as simple')
      await client.query('select $1::text as parsed', ['Q' + 'P'.repeat(100_000)])
      await client.query({ name: 'named', text: 'select $1::text as named', values: ['ü'] })
    }
    await client.query('create temporary table copied (line text)')
    const copy = client.query(from('copy copied from stdin'))
    for (let line = 0; line < 1000; line++) copy.write('Q' + 'P'.repeat(line) + '\\n')
    copy.end()
    await finished(copy)
    await client.query('select count(*) from copied')
    await client.end()
    const unnamed = new pg.Client(${JSON.stringify(connection)})
    await unnamed.connect()
    await unnamed.query('select 1 as unnamed')
    await unnamed.end()`
  const environment = { PATH: process.env.PATH, ...recording }
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: project, env: environment })
  expect(takeRecordedStatements().map(({ name, text }) => `${name}: ${text}`)).toEqual([
    'recorded: select 1 as simple',
    'recorded: select $1::text as parsed',
    'recorded: select $1::text as named',
    'recorded: create temporary table copied (line text)',
    'recorded: copy copied from stdin',
    'recorded: select count(*) from copied',
    ': select 1 as unnamed',
  ])
  expect(takeRecordedStatements()).toEqual([])
  await drop()
})

test('the statements of a service in another process are recorded', async () => {
  const database = await createDatabase()
  const services = await serviceProcesses(database)
  const service = await services.start('rapport of a test')
  const path = `/v5/imports/${encodeId('imp', newId())}/trigger/${generateTriggerSecret()}`
  // A busy service may refuse the first one before it asks the database.
  await expect.poll(async () => (await service.push(path, { name: 'Ada' }))?.status, { timeout: 20_000 }).toBe(404)
  await services.close()
  await database.drop()
  const texts = takeRecordedStatements().map(({ name, text }) => `${name}: ${text}`)
  expect(texts).toContainEqual(expect.stringMatching(/^rapport of a test: [^]*\bimport_triggers\b/))
})

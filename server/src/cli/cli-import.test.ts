import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ProcessResult, run, type RunOptions, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
let folder: string
let runOptions: RunOptions

beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
  organization = await service.newOrganization()
  folder = await mkdtemp(join(tmpdir(), 'rapport-cli-import-'))
  runOptions = { environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder, PUBLIC_URL: service.url } }
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const command = (words: readonly string[]): Promise<ProcessResult> =>
  run(['import', ...words, '--organization', organization.organizationId], runOptions)

async function asJson(words: readonly string[]): Promise<Json> {
  const { code, output, errors } = await command([...words, '--json'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return JSON.parse(output)
}

const push = async (triggerUrl: string): Promise<number> =>
  (await service.anonymous('POST', new URL(triggerUrl).pathname, { body: { contact: { email: 'a@example.com' } } }))
    .status

const read = async (id: string): Promise<Json> => (await organization.call('GET', `/v5/imports/${id}`)).body

const urlPattern = /^http:\/\/127\.0\.0\.1:\d+\/v5\/imports\/imp_[0-9a-f]{32}\/trigger\/[0-9A-Za-z]{43}$/

test('create adds an import that the running service serves immediately, and prints its URL', async () => {
  const { body: team } = await organization.call('POST', '/v5/teams', { body: { name: 'Zürich' } })
  const words = [
    'create',
    '--name',
    'Landing page',
    '--team',
    'zurich',
    '--tag',
    'web',
    'spring',
    '--merge',
    'overwrite',
  ]
  const created = await asJson(words)
  expect(created).toEqual({ id: expect.stringMatching(/^imp_/), triggerUrl: expect.stringMatching(urlPattern) })
  expect(await read(created.id)).toMatchObject({
    name: 'Landing page',
    teamId: team.id,
    tags: ['web', 'spring'],
    mergePolicy: 'overwrite',
    disabledAt: null,
  })
  expect(await push(created.triggerUrl)).toBe(200)
  const printed = await command(['create', '--name', 'Told', '--team', team.id])
  const [, id = '', url = ''] = /^Import (imp_\w+)\n\n {2}(\S+)\n/.exec(printed.output) ?? []
  expect(url).toMatch(urlPattern)
  expect(printed.output).toContain(`curl ${url} -H`)
  expect(await read(id)).toMatchObject({ name: 'Told', teamId: team.id, tags: [], mergePolicy: 'fill' })
})

test.each([
  ['a name that is too long', ['--name', 'x'.repeat(201)], /name: expected at most 200 characters/],
  ['an empty name', ['--name', ''], /name: must not be empty/],
  ['an unknown team name', ['--name', 'A', '--team', 'Nowhere'], /no team "Nowhere"/],
  ['an unknown team id', ['--name', 'A', '--team', `tea_${'0'.repeat(32)}`], /teamId: no team with this id exists/],
  ['a tag that is too long', ['--name', 'A', '--tag', 'x'.repeat(101)], /tags\.0: expected at most 100 characters/],
])('create refuses %s like the API and creates nothing', async (_, words, expected) => {
  const count = async () => (await organization.call('GET', '/v5/imports/count')).body.count
  const before = await count()
  const { code, output, errors } = await command(['create', ...words])
  expect({ code, output }).toEqual({ code: 1, output: '' })
  expect(errors).toMatch(expected)
  expect(await count()).toBe(before)
})

test('rotate prints the new URL and when the previous one expires', async () => {
  const { id, triggerUrl } = await asJson(['create', '--name', 'Rotated'])
  const rotated = await asJson(['rotate', '--import', 'ROTATED', '--overlap', '600'])
  expect(rotated).toEqual({
    id,
    triggerUrl: expect.stringMatching(urlPattern),
    previousUrlExpiresAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
  })
  expect([await push(triggerUrl), await push(rotated.triggerUrl)]).toEqual([200, 200])
  const printed = await command(['rotate', '--import', id, '--overlap', '0'])
  expect(printed).toMatchObject({ code: 0, output: expect.stringContaining('All previous URLs have been revoked.') })
  expect([await push(triggerUrl), await push(rotated.triggerUrl)]).toEqual([404, 404])
  expect(await push(/https?:\S+/.exec(printed.output)?.[0] ?? '')).toBe(200)
  expect((await command(['rotate', '--import', id])).output).toMatch(/The previous URL is valid until \d{4}-/)
})

test('rotate finds an import by its id or unique name and never guesses', async () => {
  const twins = [await asJson(['create', '--name', 'Twin']), await asJson(['create', '--name', 'Twin'])]
  for (const [named, expected] of [
    ['Nowhere', /no import "Nowhere"/],
    [`imp_${'0'.repeat(32)}`, /no import with this id/],
    ['twin', new RegExp(`Several imports are called "twin": (?=.*${twins[0].id})(?=.*${twins[1].id})`)],
  ] as const) {
    const { code, output, errors } = await command(['rotate', '--import', named])
    expect({ named, code, output }).toEqual({ named, code: 1, output: '' })
    expect(errors).toMatch(expected)
  }
  const tooLong = await command(['rotate', '--import', twins[0].id, '--overlap', '2592001'])
  expect(tooLong).toMatchObject({ code: 1, errors: expect.stringContaining('expected at most 2592000') })
})

test('list prints the JSON of the API or a table', async () => {
  const own = await service.newOrganization()
  const listOf = (...words: string[]) =>
    run(['import', 'list', '--organization', own.organizationId, ...words], runOptions)
  const { body: other } = await own.call('POST', '/v5/imports', { body: { name: 'Paused' } })
  await own.call('POST', `/v5/imports/${other.id}/disable`)
  const listed = await listOf('--json')
  expect(JSON.parse(listed.output)).toEqual((await own.call('GET', '/v5/imports')).body)
  expect(JSON.parse(listed.output)).toHaveLength(2)
  const [heading = '', ...rows] = (await listOf()).output.trimEnd().split('\n')
  expect(heading.split(/ {2,}/)).toEqual([
    'ID',
    'NAME',
    'STATE',
    'WAITING',
    'PROCESSED',
    'FAILED',
    'OLDEST WAITING SINCE',
  ])
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
    [other.id, 'Paused', 'disabled', '0', '0', '0', '–'],
    [own.importId, 'Bootstrap', 'enabled', '0', '0', '0', '–'],
  ])
})

test('list reports an unknown organization and an organization without imports', async () => {
  const { code, errors } = await run(['import', 'list', '--organization', 'Nowhere'], runOptions)
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining('no organization "Nowhere"') })
  const own = await service.newOrganization()
  await own.call('DELETE', `/v5/imports/${own.importId}`)
  const none = await runProcess(['import', 'list', '--organization', own.organizationId], runOptions)
  expect(none).toEqual({ code: 0, errors: '', output: 'There are no imports yet.\n' })
})

test('disable closes the trigger URL of an import immediately in a running service, and enable opens it again', async () => {
  const { id, triggerUrl } = await asJson(['create', '--name', 'A bad sender'])
  expect(await push(triggerUrl)).toBe(200)
  expect(await asJson(['disable', '--import', 'a bad sender'])).toEqual({ id, isChanged: true })
  expect(await push(triggerUrl)).toBe(404)
  expect(await asJson(['disable', '--import', id])).toEqual({ id, isChanged: false })
  expect(await asJson(['enable', '--import', id])).toEqual({ id, isChanged: true })
  expect(await push(triggerUrl)).toBe(200)
  const log = await organization.call('GET', `/v5/audit-log?filter.recordId.equals=${id}&sort=asc`)
  expect(log.body.map(({ action, actorKind }: Json) => [action, actorKind])).toEqual(
    ['import.created', 'import.disabled', 'import.enabled'].map((action) => [action, 'command']),
  )
})

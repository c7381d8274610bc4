import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from './service.ts'

// The code of an API user, with api.ts generated from /v5/docs.
const client = `
import createClient, { createQuerySerializer } from 'openapi-fetch'
import type { components, paths } from './api.js'

type Contact = components['schemas']['Contact']
const { BASE_URL = '', API_KEY = '', ORGANIZATION = '' } = process.env
const api = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { authorization: \`Bearer \${API_KEY}\`, 'service-organization-id': ORGANIZATION },
  querySerializer: createQuerySerializer({ object: { style: 'form', explode: true } }),
})

const company = await api.POST('/v5/companies', { body: { name: 'Analytical Engines' } })
for (const firstName of ['Ada', 'Adam', 'Grace', 'Adele']) {
  const { data, error, response } = await api.POST('/v5/contacts', {
    body: {
      email: \`\${firstName.toLowerCase()}@example.com\`,
      firstName,
      companyId: company.data?.id ?? null,
      tags: ['pioneer'],
      customProperties: { plan: firstName === 'Adele' ? 'free' : 'pro' },
    },
    params: { header: { 'Idempotency-Key': \`create-\${firstName}\` } },
  })
  if (error) throw new Error(error.code)
  const created: string | null = data.firstName
  console.log(response.status, created, data.company?.name)
}

const custom: Record<string, string> = { 'filter.customProperties.plan.equals': 'pro' }
const query = {
  filters: {
    'filter.firstName.startsWith': 'ad',
    'filter.company.name.contains': 'engines',
    'filter.createdAt.gte': '2020-01-01',
    'filter.emailOptOut.equals': false,
    ...custom,
  },
  'select[]': ['id', 'firstName', 'customProperties.plan'],
  orderBy: 'firstName',
  sort: 'asc',
  limit: 1,
} as const
for (let startingAfter: string | undefined; ; ) {
  const { data, error } = await api.GET('/v5/contacts', {
    params: { query: { ...query, 'select[]': [...query['select[]']], ...(startingAfter && { startingAfter }) } },
  })
  if (error) throw new Error(error.description)
  for (const contact of data) console.log(contact.firstName, JSON.stringify(contact.customProperties), contact.tags?.length)
  // The selected properties are present; the caller knows which.
  const page = data as Pick<Contact, 'id' | 'firstName' | 'customProperties'>[]
  startingAfter = page.at(-1)?.id
  if (page.length < query.limit) break
}
const whole = (await api.GET('/v5/contacts', { params: { query: { limit: 1 } } })).data as Contact[]
console.log('whole', whole[0]?.tags.length, whole[0]?.company?.name.length)

// Editors complete the names of fields, and custom properties are accepted too.
type OrderBy = NonNullable<NonNullable<paths['/v5/contacts']['get']['parameters']['query']>['orderBy']>
const completed: Extract<OrderBy, 'company.name'> = 'company.name'
const found = await api.POST('/v5/contacts/search', {
  body: {
    filter: { or: [{ firstName: { startsWith: 'ad' } }, { company: { some: { name: { contains: 'loom' } } } }] },
    orderBy: 'customProperties.plan',
    select: [completed, 'customProperties.plan'],
  },
})
console.log('found', found.data?.map(({ company }) => company?.name).join())

const count = await api.GET('/v5/contacts/count', { params: { query: { filters: { tags: 'pioneer' } } } })
const total: number | undefined = count.data?.count
console.log('count', total)

const [first] = (await api.GET('/v5/contacts', { params: { query: { filters: { 'filter.email.equals': 'ada@example.com' } } } })).data ?? []
const params = { path: { contactId: first?.id ?? '' } }
const changed = await api.PATCH('/v5/contacts/{contactId}', {
  params: { ...params, header: { 'If-Match': '*' } },
  body: { city: 'London', customProperties: { plan: null }, employmentSeniority: 'c_suite' },
})
console.log(changed.data?.city, changed.data?.employmentSeniority, JSON.stringify(changed.data?.customProperties))

const twice = await api.POST('/v5/contacts', { body: { email: 'ADA@example.com' } })
if (twice.error?.code === 'already_exists') console.log(twice.response.status, twice.error.details?.[0]?.field)
const gone = await api.DELETE('/v5/contacts/{contactId}', { params })
console.log(gone.response.status, (await api.GET('/v5/contacts/{contactId}', { params })).error?.code)

const made = await api.POST('/v5/imports', { body: { name: 'Landing page', tags: ['lead'] } })
const importId = made.data?.id ?? ''
const hash = made.data?.triggerUrl.split('/').at(-1) ?? ''
const push = (email: string) =>
  createClient<paths>({ baseUrl: BASE_URL }).POST('/v5/imports/{importId}/trigger/{hash}', {
    params: { path: { importId, hash } },
    body: { contact: { email, favourite: 'blue' }, employment: { seniority: 'SENIOR' }, company: { name: 'MIT' } },
  })
const pushed = await push('barbara@example.com')
console.log(pushed.response.status, pushed.data?.object, pushed.data?.status)
let row: components['schemas']['ImportRowDetails'] | undefined
do {
  row = (await api.GET('/v5/imports/{importId}/rows/{rowId}', { params: { path: { importId, rowId: pushed.data?.id ?? '' } } })).data as typeof row
} while (row?.finishedAt === null)
console.log(row?.status, row?.warnings.map(({ code, path }) => code + ' ' + path).join(), row?.changes.length)
const rows = await api.GET('/v5/imports/{importId}/rows', {
  params: { path: { importId }, query: { filters: { 'filter.warningCodes.has': 'unknown_member', 'filter.status.equals': 'PROCESSED' } } },
})
console.log(rows.data?.map(({ id }) => id).join() === row?.id, rows.data?.[0]?.contactId === row?.contactId)
const retried = await api.POST('/v5/imports/{importId}/rows/{rowId}/retry', { params: { path: { importId, rowId: row?.id ?? '' } } })
const dry = await api.POST('/v5/imports/{importId}/rows/retry', { params: { path: { importId }, query: { dryRun: true } } })
console.log(retried.error?.code, dry.data?.count, dry.data?.remaining)
const rotated = await api.POST('/v5/imports/{importId}/rotate', { params: { path: { importId } }, body: { overlapSeconds: 0 } })
console.log(rotated.data?.triggerUrl === made.data?.triggerUrl, rotated.data?.previousUrlExpiresAt, (await push('b@example.com')).error?.code)
console.log((await api.GET('/v5/imports/{importId}', { params: { path: { importId } } })).data?.stats?.counts?.PROCESSED)
`

const prelude = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'
const api = createClient<paths>({ baseUrl: '' });
`

/** Mistakes that the types must detect, each in a separate file, with the compiler's error. */
const mistakes: Record<string, { line: string; expectedError: string }> = {
  // openapi-fetch accepts unknown properties of a body; the generated type does not.
  'unknown-field': {
    line: `const body: components['schemas']['ContactCreate'] = { emial: 'ada@example.com' }`,
    expectedError: `'emial' does not exist`,
  },
  'read-only-field': {
    line: `const body: components['schemas']['ContactUpdate'] = { createdAt: '2026-11-21' }`,
    expectedError: `'createdAt' does not exist`,
  },
  'wrong-type': {
    line: `await api.POST('/v5/contacts', { body: { email: 1 } })`,
    expectedError: `'number' is not assignable to type 'string'`,
  },
  'missing-field': {
    line: `await api.POST('/v5/companies', { body: { nickname: 'AE' } })`,
    expectedError: `Property 'name' is missing`,
  },
  'unknown-word': {
    line: `await api.PATCH('/v5/contacts/{contactId}', { params: { path: { contactId: '' } }, body: { employmentSeniority: 'boss' } })`,
    expectedError: `'"boss"' is not assignable`,
  },
  'unknown-filter': {
    line: `await api.GET('/v5/contacts', { params: { query: { filters: { 'filter.emial.equals': 'x' } } } })`,
    expectedError: `''filter.emial.equals'' does not exist`,
  },
  'unknown-operator': {
    line: `await api.GET('/v5/contacts', { params: { query: { filters: { 'filter.createdAt.contains': '2020' } } } })`,
    expectedError: `''filter.createdAt.contains'' does not exist`,
  },
  'filter-of-another-type': {
    line: `await api.GET('/v5/contacts', { params: { query: { filters: { 'filter.latitude.gt': 'north' } } } })`,
    expectedError: `'string' is not assignable to type 'number'`,
  },
  'unknown-order': {
    line: `await api.GET('/v5/teams', { params: { query: { orderBy: 'nome' } } })`,
    expectedError: `'"nome"' is not assignable`,
  },
  'unknown-filter-in-a-branch': {
    line: `const body: components['schemas']['TeamSearch'] = { filter: { or: [{ nome: { equals: 'x' } }] } }`,
    expectedError: `'nome' does not exist`,
  },
  'unknown-path': {
    line: `await api.GET('/v5/contact', {})`,
    expectedError: `'"/v5/contact"' is not assignable`,
  },
  'missing-id': {
    line: `await api.GET('/v5/contacts/{contactId}')`,
    expectedError: 'Expected 2 arguments',
  },
  'member-that-is-not-there': {
    line: `(await api.GET('/v5/me')).data?.organisations`,
    expectedError: `'organisations' does not exist`,
  },
  'secret-that-is-not-shown-again': {
    line: `(await api.GET('/v5/imports/{importId}', { params: { path: { importId: '' } } })).data?.triggerUrl`,
    expectedError: `'triggerUrl' does not exist`,
  },
  'unknown-state': {
    line: `if ((await api.GET('/v5/imports/{importId}/rows', { params: { path: { importId: '' } } })).data?.[0]?.status === 'DONE') {}`,
    expectedError: 'appears to be unintentional',
  },
  'wrong-type-in-a-push': {
    line: `const lead: components['schemas']['Push'] = { contact: { email: 1 } }`,
    expectedError: `'number' is not assignable to type 'string'`,
  },
  'null-is-possible': {
    line: `const name: string = (await api.POST('/v5/contacts', { body: {} })).data!.firstName`,
    expectedError: `'null' is not assignable to type 'string'`,
  },
  'unselected-property-of-a-list': {
    line: `(await api.GET('/v5/contacts', { params: { query: { 'select[]': ['id'] } } })).data![0]!.tags.length`,
    expectedError: `is possibly 'undefined'`,
  },
  'unselected-property-of-a-record': {
    line: `(await api.GET('/v5/contacts/{contactId}', { params: { path: { contactId: '' } } })).data!.tags.length`,
    expectedError: `is possibly 'undefined'`,
  },
  'unselected-property-of-an-embedded-record': {
    line: `(await api.GET('/v5/contacts')).data![0]!.company!.name.length`,
    expectedError: `is possibly 'undefined'`,
  },
  'word-that-no-record-can-have': {
    line: `await api.GET('/v5/contacts', { params: { query: { filters: { 'filter.employmentSeniority.equals': 'boss' } } } })`,
    expectedError: `'"boss"' is not assignable`,
  },
}

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '1' })
  folder = await mkdtemp(join(tmpdir(), 'rapport-client-'))
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const types = astToString(await openapiTS(new URL(`${service.url}/v5/docs`)))
  await writeFile(join(folder, 'api.ts'), types)
  await writeFile(join(folder, 'rapport.d.ts'), types)
  await writeFile(join(folder, 'guide.ts'), await guideExample())
  await writeFile(join(folder, 'client.ts'), client)
  await mkdir(join(folder, 'out'))
  for (const [name, { line }] of Object.entries(mistakes))
    await writeFile(join(folder, `${name}.ts`), `${prelude}${line}\n`)
})

afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

test('a typed client generated from /v5/docs compiles, detects mistakes and works', { timeout: 180_000 }, async () => {
  expect(await compile(['client', 'guide', ...Object.keys(mistakes)])).toEqual({
    client: [],
    guide: [],
    ...Object.fromEntries(
      Object.entries(mistakes).map(([name, { expectedError }]) => [name, [expect.stringContaining(expectedError)]]),
    ),
  })
  const { organizationId, apiKey } = await service.newOrganization()
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(folder, 'out/client.js')], {
    env: { ...process.env, BASE_URL: service.url, API_KEY: apiKey, ORGANIZATION: organizationId },
    timeout: 60_000,
  })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    '201 Ada Analytical Engines',
    '201 Adam Analytical Engines',
    '201 Grace Analytical Engines',
    '201 Adele Analytical Engines',
    'Ada {"plan":"pro"} undefined',
    'Adam {"plan":"pro"} undefined',
    'whole 1 18',
    'found Analytical Engines,Analytical Engines,Analytical Engines',
    'count 4',
    'London c_suite {}',
    '409 email',
    '204 not_found',
    '200 row PENDING',
    'PROCESSED unknown_member contact.favourite 2',
    'true true',
    'resource_locked 0 0',
    'false null not_found',
    '1',
  ])
})

/** The example of docs/guides/api.md, with the variables that it uses. */
async function guideExample(): Promise<string> {
  const guide = await readFile(new URL('../../docs/guides/api.md', import.meta.url), 'utf8')
  const [, example = ''] = /^## A typed client\n.*?^```ts\n(.*?)^```/ms.exec(guide) ?? []
  return `${example}\ndeclare const apiKey: string, organizationId: string\nexport default contacts[0]?.tags.length\n`
}

/** Compiles the files like `tsc --strict`; returns the errors of each file. */
async function compile(names: readonly string[]): Promise<Record<string, string[]>> {
  const compilerOptions = {
    strict: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    rootDir: '.',
    outDir: 'out',
    skipLibCheck: true,
  }
  const files = names.map((name) => `${name}.ts`)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compiler = fileURLToPath(new URL('../../node_modules/typescript-native/bin/tsc', import.meta.url))
  const failed = await promisify(execFile)(process.execPath, [compiler, '--pretty', 'false'], { cwd: folder }).then(
    () => undefined,
    (error: { stdout: string }) => error,
  )
  const errors = Object.fromEntries(names.map((name): [string, string[]] => [name, []]))
  // Further lines of an error are indented.
  for (const line of (failed?.stdout ?? '').split(/\n(?! )/).filter((one) => one !== '')) {
    const [, name = '', message = ''] = /^([\w-]+)\.ts\(\d+,\d+\): error TS\d+: (.*)$/s.exec(line) ?? []
    if (!errors[name]) throw new Error(line)
    errors[name].push(message)
  }
  return errors
}

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { expectedLines, programs } from './client-programs.ts'
import { installTools, runTool, toolModules } from './client-tools.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

// Clients generated from /v5/docs; typed-client.test.ts has that of openapi-typescript.

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

let service: TestService
let folder: string
let obstacle: string | undefined

beforeAll(async () => {
  obstacle = await installTools()
  service = await startTestService()
  folder = await mkdtemp(join(tmpdir(), 'rapport-clients-'))
  await symlink(toolModules, join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const response = await fetch(`${service.url}/v5/docs`)
  await writeFile(join(folder, 'openapi.json'), await response.text())
}, 400_000)

afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

test('clients of four generators compile, and list, page, create, change, fail and search', async ({ skip }) => {
  if (obstacle !== undefined) skip(obstacle)
  await writeFile(join(folder, 'orval.config.cjs'), orvalConfig)
  const generate = [
    () =>
      runTool(
        '@hey-api/openapi-ts/bin/run.js',
        ['-i', 'openapi.json', '-o', 'hey-api', '-c', '@hey-api/client-fetch'],
        folder,
      ),
    () => runTool('orval/dist/bin/orval.js', ['--config', './orval.config.cjs'], folder),
    () =>
      runTool(
        'swagger-typescript-api/dist/cli.mjs',
        ['generate', '--axios', '-p', 'openapi.json', '-o', '.', '-n', 'swagger-typescript-api.ts'],
        folder,
      ),
    async () => {
      const types = await runTool('openapi-client-axios-typegen/typegen', ['openapi.json'], folder)
      await writeFile(join(folder, 'openapi-client-axios.d.ts'), types)
    },
  ]
  for (const one of generate) await one()
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, `${name}.ts`), text)
  expect(await typeErrors()).toBe('')
  for (const name of Object.keys(programs)) {
    const outfile = join(folder, `${name}.cjs`)
    await build({ entryPoints: [join(folder, `${name}.ts`)], outfile, bundle: true, platform: 'node', format: 'cjs' })
    const { organizationId, apiKey } = await service.newOrganization()
    const env = {
      BASE_URL: service.url,
      API_KEY: apiKey,
      ORGANIZATION: organizationId,
      DOCUMENT: join(folder, 'openapi.json'),
    }
    const { stdout } = await run(process.execPath, [outfile], { env: { ...process.env, ...env } })
    expect([name, ...stdout.trim().split('\n')]).toEqual([name, ...expectedLines])
  }
}, 400_000)

const orvalConfig = `module.exports = {
  rapport: { input: './openapi.json', output: { target: './orval.ts', client: 'axios-functions', mode: 'single' } },
}`

/** Type-checks the programs and everything that was generated for them. */
async function typeErrors(): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const files = Object.keys(programs).map((name) => `${name}.ts`)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compiler = join(root, 'node_modules/typescript-native/bin/tsc')
  return run(process.execPath, [compiler, '--pretty', 'false'], { cwd: folder }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout.slice(0, 5000),
  )
}

test('a collection for Postman has every operation, with the header of the organization', async ({ skip }) => {
  if (obstacle !== undefined) skip(obstacle)
  await runTool('openapi-to-postmanv2/bin/openapi2postmanv2.js', ['-s', 'openapi.json', '-o', 'postman.json'], folder)
  const text = await readFile(join(folder, 'postman.json'), 'utf8')
  const requests = requestsIn(JSON.parse(text) as PostmanItem)
  // 161 kB for each request when related records referred to each other.
  expect(text.length / requests.length).toBeLessThan(110_000)
  const document = JSON.parse(await readFile(join(folder, 'openapi.json'), 'utf8')) as { paths: object }
  expect(requests).toHaveLength(
    Object.values(document.paths).flatMap((methods) => Object.keys(methods as object)).length,
  )
  const organization = await service.newOrganization()
  const send = sendFrom(requests, organization)
  const created = await send('POST v5/contacts', { body: { email: 'ada@example.com', firstName: 'Ada' } })
  expect(created.status).toBe(201)
  const { id } = (await created.json()) as { id: string }
  const list = await send('GET v5/contacts', {
    query: { 'filter.firstName.equals': 'Ada', limit: '1', 'select[]': 'id' },
  })
  expect([list.status, await list.json()]).toEqual([200, [{ id }]])
  const next = await send('GET v5/contacts', { query: { startingAfter: id } })
  expect([next.status, await next.json()]).toEqual([200, []])
  const change = (tag: string) =>
    send('PATCH v5/contacts/:contactId', { id, header: { 'If-Match': tag }, body: { city: 'London' } })
  expect((await change(created.headers.get('etag') ?? '')).status).toBe(200)
  expect((await change(created.headers.get('etag') ?? '')).status).toBe(412)
  expect((await send('POST v5/contacts', { body: { email: 'ADA@example.com' } })).status).toBe(409)
  const found = await send('POST v5/contacts/search', {
    body: { filter: { firstName: { equals: 'Ada' } }, select: ['id'] },
  })
  expect([found.status, await found.json()]).toEqual([200, [{ id }]])
}, 400_000)

interface PostmanItem {
  item?: PostmanItem[]
  request?: {
    method: string
    url: { path: string[]; query: { key: string }[] }
    header: { key: string }[]
  }
}

const requestsIn = ({ item = [], request }: PostmanItem): NonNullable<PostmanItem['request']>[] =>
  request ? [request] : item.flatMap(requestsIn)

interface Entered {
  id?: string
  query?: Record<string, string>
  header?: Record<string, string>
  body?: object
}

/** Sends a request of the collection as a person does: with values for what is entered, and the rest switched off. */
const sendFrom =
  (requests: ReturnType<typeof requestsIn>, { apiKey, organizationId }: TestOrganization) =>
  (name: string, { id = '', query = {}, header = {}, body }: Entered): Promise<Response> => {
    const request = requests.find(({ method, url }) => `${method} ${url.path.join('/')}` === name)
    if (!request) throw new Error(`the collection has no ${name}`)
    const headers: Record<string, string> = { 'Service-Organization-ID': organizationId, ...header }
    expect(request.header.map(({ key }) => key)).toEqual(expect.arrayContaining(Object.keys(headers)))
    expect(request.url.query.map(({ key }) => key)).toEqual(expect.arrayContaining(Object.keys(query)))
    const path = request.url.path.map((part) => (part.startsWith(':') ? id : part)).join('/')
    return fetch(`${service.url}/${path}?${new URLSearchParams(query)}`, {
      method: request.method,
      headers: { Authorization: `Bearer ${apiKey}`, ...headers, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  }

test('Prism in front of the service finds no difference from the document', async ({ skip }) => {
  if (obstacle !== undefined) skip(obstacle)
  const port = await freePort()
  const script = join(toolModules, '@stoplight/prism-cli/dist/index.js')
  const parameters = ['proxy', 'openapi.json', service.url, '--errors', '--port', String(port)]
  const prism = spawn(process.execPath, [script, ...parameters], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    for await (const line of createInterface({ input: prism.stdout })) if (line.includes('listening')) break
    prism.stdout.resume()
    const { organizationId, apiKey } = await service.newOrganization()
    const call = async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId, ...more }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      // What Prism itself answers has this type.
      expect([method, path, text]).toEqual([method, path, expect.not.stringContaining('stoplight.io/prism')])
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
    }
    const company = await call('POST', '/v5/companies', { name: 'Engines', domain: 'engines.example.com' })
    const ada = await call('POST', '/v5/contacts', {
      email: 'ada@example.com',
      companyId: company.body.id,
      tags: ['pioneer'],
      customProperties: { plan: 'pro', seats: 3 },
    })
    const path = `/v5/contacts/${ada.body.id}`
    const tag = ada.headers.get('etag') ?? ''
    const statuses = [company.status, ada.status]
    const filters = 'filter.createdAt.gte=2020-01-01&filter.customProperties.plan.equals=pro&filter.tags.has=pioneer'
    for (const [method, target, body, headers] of [
      ['GET', '/v5/contacts?limit=2&orderBy=customProperties.plan&sort=asc'],
      ['GET', `/v5/contacts?${filters}&select[]=id&select[]=company.name`],
      ['GET', `/v5/contacts/count?${filters}`],
      ['GET', path],
      ['PATCH', path, { city: 'London', customProperties: { plan: null } }, { 'if-match': tag }],
      ['PATCH', path, { city: 'Paris' }, { 'if-match': tag }],
      ['POST', '/v5/contacts', { email: 'ADA@example.com' }],
      ['GET', `/v5/contacts/con_${'0'.repeat(32)}`],
      [
        'POST',
        '/v5/contacts/search',
        {
          filter: { or: [{ city: { equals: 'London' } }], company: { some: { name: { contains: 'eng' } } } },
          limit: 5,
        },
      ],
      ['POST', '/v5/contacts/search/count', { filter: { createdAt: { gte: { last: { days: 7 } } } } }],
      ['POST', `${path}/notes`, { body: 'Asked for an offer.' }],
      ['GET', `${path}/timeline`],
      ['POST', '/v5/deals', { name: 'Engine', amount: '10', currency: 'EUR' }],
      ['GET', '/v5/deals/summary'],
      ['GET', '/v5/companies?query=engines'],
      ['GET', '/v5/tasks'],
      ['GET', '/v5/me'],
      ['GET', '/v5/schema'],
      ['DELETE', path],
    ] as const) {
      statuses.push((await call(method, target, body, headers)).status)
    }
    expect(statuses).toEqual([
      201,
      201,
      ...[200, 200, 200, 200, 200, 412, 409, 404, 200, 200, 201],
      ...[200, 201, 200, 200, 200, 200, 200, 204],
    ])
  } finally {
    prism.kill()
  }
}, 400_000)

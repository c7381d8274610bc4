import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId } from '../src/platform/model/ids.ts'
import { parseSecret } from '../src/platform/secret/secret.ts'
import { type CitusNode, startCitus } from './citus.ts'
import { databaseUrlOf } from './command-line.ts'
import { audit, newFullLead, untilFinished } from './import-audit.ts'
import { isDistributed } from './engines.ts'
import { createDatabaseFrom, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses, sharedSecret } from './service-process.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

/** A client of an organization of its own, whose records are on one worker. */
interface Client {
  organization: TestOrganization
  /** The worker's number: 1 or 2. */
  worker: number
  /** Does it push leads? Otherwise it creates contacts. */
  pushes: boolean
  /** The ids of rows or contacts that it was promised. */
  acknowledged: string[]
  /** Statuses of responses that were no acknowledgment. */
  refusals: Set<number>
}

// Citus needs servers of its own here, because they are killed.
describe.skipIf(!isDistributed())('on Citus, needs TEST_ENGINE=citus: servers are killed under load', () => {
  let folder: string
  let citus: Awaited<ReturnType<typeof startCitus>>
  let testDatabase: TestDatabase
  let auditor: TestService
  let processes: ServiceProcesses
  let services: ServiceProcess[]
  let clients: Client[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rapport-citus-crashes-'))
    await chmod(folder, 0o711)
    // An acknowledged commit must survive the end of the server; that of the machine is not tested.
    citus = await startCitus(folder, { settings: { fsync: 'off', max_connections: 200 }, template: 'template_rapport' })
    testDatabase = await createDatabaseFrom('template_rapport', 'rapport', citus.cluster)
    const settings = { ROLE: 'api', DATABASE_URL: databaseUrlOf(testDatabase) }
    const place = { ...testDatabase, secret: parseSecret(sharedSecret), drop: async () => undefined }
    auditor = await startTestService(settings, place)
    processes = await serviceProcesses(testDatabase)
    services = await Promise.all(
      ['one', 'two'].map((name) => processes.start(name, { IMPORT_LEASE_SECONDS: '2', REASONING_CONCURRENCY: '1' })),
    )
    clients = []
    for (const worker of [1, 2]) for (const pushes of [true, false]) clients.push(await clientOn(worker, pushes))
  })
  afterAll(async () => {
    await processes.close()
    await auditor.close()
    await citus.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const inDatabase = async (text: string, values: unknown[] = []): Promise<Json[]> => {
    const client = new pg.Client(testDatabase.connection)
    await client.connect()
    return (await client.query(text, values).finally(() => client.end())).rows
  }

  async function clientOn(worker: number, pushes: boolean): Promise<Client> {
    for (;;) {
      const organization = await auditor.newOrganization()
      const [row] = await inDatabase(
        `select nodename from citus_shards
        where shardid = get_shard_id_for_distribution_column('contacts', $1::uuid)`,
        [decodeId('org', organization.organizationId)],
      )
      if (row?.nodename === citus.cluster.workers?.[worker - 1])
        return { organization, worker, pushes, acknowledged: [], refusals: new Set() }
    }
  }

  let turn = 0
  const next = (): ServiceProcess => services[turn++ % services.length] as ServiceProcess

  /** The response of one of the services; undefined without one. */
  async function send(
    method: string,
    path: string,
    { apiKey, organizationId }: TestOrganization,
    body?: unknown,
    key = '',
  ) {
    const response = await fetch(`${next().url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'service-organization-id': organizationId,
        ...(key && { 'idempotency-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch(() => undefined)
    return response && { status: response.status, body: (await response.json()) as Json }
  }

  /** Changes one thing after the other, each repeated with its key until it is acknowledged. */
  async function load({ organization, pushes, acknowledged, refusals }: Client, isOver: () => boolean): Promise<void> {
    const path = pushes ? new URL(organization.triggerUrl).pathname : '/v5/contacts'
    while (!isOver()) {
      const [key, body] = [randomUUID(), pushes ? newFullLead() : { name: 'Ada Lovelace' }]
      const isAcknowledged = async () => {
        const response = await send('POST', path, organization, body, key)
        if (response === undefined) return false
        if (response.status >= 300) refusals.add(response.status)
        else acknowledged.push(response.body.id)
        return response.status < 300
      }
      await until('the change is acknowledged', isAcknowledged, 60_000)
    }
  }

  /** Kills the server under load, calls `whileDown`, starts it again, and waits until everything is served again. */
  async function crash(node: CitusNode, whileDown: () => Promise<void>): Promise<void> {
    let isOver = false
    const loads = Promise.all(clients.map((client) => load(client, () => isOver)))
    try {
      await untilServed(clients)
      await node.kill()
      await whileDown()
      await node.restart()
      await untilServed(clients)
    } finally {
      isOver = true
    }
    await loads
  }

  async function untilServed(some: readonly Client[]): Promise<void> {
    const before = some.map(({ acknowledged }) => acknowledged.length)
    const isServed = () => some.every(({ acknowledged }, index) => acknowledged.length >= (before[index] ?? 0) + 10)
    const state = () =>
      some.map(({ worker, pushes, acknowledged, refusals }) => ({
        worker,
        pushes,
        acknowledged: acknowledged.length,
        refusals: [...refusals],
      }))
    await until('changes are acknowledged', isServed, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(state())}`)
    })
  }

  /** Each acknowledged change is stored once, and nothing else is. */
  async function expectStored({ organization, pushes, acknowledged }: Client): Promise<void> {
    if (pushes) {
      await untilFinished(auditor, organization, acknowledged.length)
      const counts = await audit(auditor, organization, { accepted: acknowledged })
      return expect(counts).toEqual({ PROCESSED: acknowledged.length })
    }
    const stored = await inDatabase(
      `select 'con_' || replace(id::text, '-', '') as id from contacts where organization_id = $1`,
      [decodeId('org', organization.organizationId)],
    )
    expect(stored.map(({ id }) => id).sort()).toEqual([...acknowledged].sort())
  }

  /** 409: an earlier attempt with the same key is still in progress. */
  const unexpectedRefusals = () =>
    clients.flatMap(({ refusals }) => [...refusals]).filter((status) => ![409, 503].includes(status))

  test('without one worker, organizations on the other are served; then all are, and nothing is lost or done twice', async () => {
    const [lost, kept] = [1, 2].map((number) => clients.filter(({ worker }) => worker === number)) as [
      Client[],
      Client[],
    ]
    await crash(citus.nodes[1] as CitusNode, async () => {
      await untilServed(kept)
      await until('its organizations are refused', () => lost.every(({ refusals }) => refusals.has(503)), 30_000)
      for (const { organization } of lost) expect((await send('GET', '/v5/contacts', organization))?.status).toBe(503)
      for (const { organization } of kept) expect((await send('GET', '/v5/contacts', organization))?.status).toBe(200)
    })
    expect(unexpectedRefusals()).toEqual([])
    for (const client of clients) await expectStored(client)
  }, 180_000)

  test('without the coordinator, requests are refused; then all are served, and nothing is lost or done twice', async () => {
    for (const { refusals } of clients) refusals.clear()
    await crash(citus.nodes[0] as CitusNode, async () => {
      await until('requests are refused', () => clients.every(({ refusals }) => refusals.has(503)), 30_000)
      for (const { organization } of clients)
        expect((await send('GET', '/v5/contacts', organization))?.status).toBe(503)
    })
    expect(unexpectedRefusals()).toEqual([])
    for (const client of clients) await expectStored(client)
    for (const { connection } of citus.nodes) await untilNothingIsPrepared(connection)
  }, 180_000)

  /** Citus' own recovery ends transactions that were interrupted between the two phases of their commit. */
  async function untilNothingIsPrepared(connection: CitusNode['connection']): Promise<void> {
    const client = new pg.Client({ ...connection, database: testDatabase.connection.database })
    await client.connect()
    const isEmpty = async () => (await client.query('select from pg_prepared_xacts')).rows.length === 0
    await until('no transaction is left prepared', isEmpty, 90_000).finally(() => client.end())
  }
})

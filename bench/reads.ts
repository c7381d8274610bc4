import { measureOnce, type Target, watchMemory } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import type { Account } from './service.ts'
import { type Stage, startFloor } from './stage.ts'
import { recordStatements } from './statements.ts'

/** As many connections to the database for service and floor: the service's default. */
export const poolSize = 16

/** The rows of reads, and at how many connections they are measured unless others are asked for. */
export const readRows = { names: ['get one', 'first page of 25'], connections: [1, 16] } as const

/** Asks for contacts of `ids` (uuids), by turns of the service and of the floor. */
export async function measureReads(stage: Stage, names: readonly string[], ids: readonly string[]): Promise<Row[]> {
  const { connection, account, options, say } = stage
  const { apiKey, organizationId: organization } = account
  const reads = await recordStatements({ connection, apiKey, organization, contact: ids[0] ?? '' })
  const floor = await startFloor({ connection, connections: poolSize, reads })
  const requests = requestsOf(account, ids)
  await assertSame([stage.service, floor], requests)
  const rows: Row[] = []
  for (const name of names) {
    for (const connections of options.connections ?? readRows.connections) {
      say(`${name}, ${connections} at a time…`)
      const rounds = { service: [] as Measurement[], floor: [] as Measurement[] }
      const memory = watchMemory(stage.service.program)
      const load = { name, requests: requests[name] ?? [], connections, seconds: options.seconds }
      for (let round = 0; round < options.rounds; round++) {
        for (const target of [stage.service, floor])
          rounds[target.name].push(await measureOnce(target, stage.database, load))
      }
      rows.push(rowOf(name, connections, figuresOf(rounds.service), figuresOf(rounds.floor), memory()))
    }
  }
  await floor.stop()
  return rows
}

function requestsOf(account: Account, ids: readonly string[]): Record<string, readonly string[]> {
  const request = (path: string) =>
    [
      `GET ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Authorization: Bearer ${account.apiKey}`,
      `Service-Organization-ID: ${account.organizationId}`,
      'Accept: application/json',
    ].join('\r\n') + '\r\n\r\n'
  const [one, page] = readRows.names
  return {
    [one]: ids.map((id) => request(`/v5/contacts/con_${id.replaceAll('-', '')}`)),
    [page]: [request('/v5/contacts')],
  }
}

/** A floor that answers something else would measure something else. */
async function assertSame(targets: readonly Target[], requests: Record<string, readonly string[]>): Promise<void> {
  for (const [name, [request = '']] of Object.entries(requests)) {
    const [path = '', ...headers] = request
      .replace(/^GET (\S+) HTTP\/1.1\r\n/, '$1\r\n')
      .trim()
      .split('\r\n')
    const sent = Object.fromEntries(headers.map((line) => line.split(': ')))
    const texts = await Promise.all(
      targets.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}${path}`, { headers: sent })).text()),
    )
    if (texts[0] !== texts[1]) throw new Error(`Service and floor answer differently (${name}):\n${texts.join('\n')}`)
  }
}

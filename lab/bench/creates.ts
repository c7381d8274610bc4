import { decodeId, encodeId } from '../../server/src/platform/model/ids.ts'
import { type VariableParts, pack } from './exchange.ts'
import { headersOf, requestBytes } from './http.ts'
import { numberPlaceholder } from './load.ts'
import { measureRow } from './measure.ts'
import { Random } from './people.ts'
import { makeContact } from './records.ts'
import { type Exchange, type Recorder, startRecorder } from './recording.ts'
import { poolSize, defaultConnections } from './reads.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import { type Testbed, startFloor } from './stage.ts'

/** Number of request bodies; the number in each makes every contact unique. */
const templates = 64
/** Numbers of the recorded creates, above all numbers of the turns. */
const firstRecordedNumber = 98_765_000
const recordingsPerRun = 8
let recordings = 0

/** Skips the numbers of earlier runs on the same database. */
export const skipRecordingsOf = (runs: number): void => void (recordings = runs * recordingsPerRun)

/** Measures creates, of contacts of companies if `isOfCompany`. Floor and driver create contacts too. */
export async function measureCreates(
  stage: Testbed,
  name: string = rowNames.created,
  { isOfCompany = false } = {},
): Promise<Row[]> {
  const { account, workspace, options, log } = stage
  const companyIds = isOfCompany ? await findCompanies(stage) : []
  const headers = headersOf(account)
  const recorder = await startRecorder({ connection: stage.connection, dataFolder: workspace.dataFolder, headers })
  const before = await countCreated(stage)
  const recorded = await recordCreates(recorder, companyIds).finally(() => recorder.close())
  const connection = { ...stage.connection, options: recorder.settings }
  const packed = pack(recorded.map(({ exchange }) => exchange))
  const variableParts = recorded.map((one) => one.variableParts)
  const floor = await startFloor({ connection, connections: poolSize, creates: { packed, variableParts } })
  const driver = {
    name: 'driver',
    connection,
    packed,
    variableParts,
    lengths: variableParts.map(() => null),
  } as const
  const requests = bodies(() => numberPlaceholder, companyIds).map((body) => ({
    bytes: requestBytes('POST', '/v5/contacts', headers, body),
    length: undefined,
  }))
  const rows: Row[] = []
  let expected = before + recorded.length
  for (const connections of options.connections ?? defaultConnections) {
    log(`${name}, ${connections} at a time…`)
    const load = { name, requests, status: 201, connections, seconds: options.seconds }
    const { row, good } = await measureRow({ ...stage, rounds: options.rounds }, [floor, driver], load)
    expected += good.service + good.floor + good.driver
    rows.push(row)
  }
  await floor.stop()
  const created = await countCreated(stage)
  if (created !== expected) throw new Error(`${expected} contacts were created, but there are ${created}.`)
  return rows
}

/** Request bodies; `number` is used for values that must be unique. */
function bodies(number: (template: number) => string, companyIds: readonly string[]): string[] {
  const random = new Random(templates)
  const owner = { organizationId: '', teamId: '', number: 0 }
  return Array.from({ length: templates }, (_, template) => {
    const created = makeContact(random, owner, template, 0)
    return JSON.stringify({
      email: `bench-${template}-${number(template)}@example.com`,
      firstName: created.first_name,
      lastName: created.last_name,
      phone: `+4930${5_000_000 + template}`,
      tags: created.tags,
      companyId: companyIds[template],
      customProperties: { ...Object(created.custom_properties), customerNumber: `B-${number(template)}` },
    })
  })
}

async function recordCreates(
  recorder: Recorder,
  companyIds: readonly string[],
): Promise<{ exchange: Exchange; variableParts: VariableParts }[]> {
  const recorded = []
  const firstNumber = firstRecordedNumber + templates * recordings++
  const numberOf = (template: number) => String(firstNumber + template)
  for (const [template, body] of bodies(numberOf, companyIds).entries()) {
    const headers = { 'content-type': 'application/json' }
    const { exchange, text } = await recorder.record('/v5/contacts', { method: 'POST', body, headers })
    const { id, rootContactId } = JSON.parse(text) as { id: string; rootContactId: string }
    const ids = [decodeId('con', id), decodeId('rcn', rootContactId)].filter((uuid) => uuid !== undefined)
    recorded.push({ exchange, variableParts: { ids, number: numberOf(template) } })
  }
  return recorded
}

/** A company for each template, which small samples repeat. */
async function findCompanies({ client, measured }: Testbed): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select id from companies where organization_id = $1 order by md5(id::text) limit $2',
    [measured.organizationId, templates],
  )
  const ids = rows.map(({ id }) => encodeId('com', id))
  return Array.from({ length: templates }, (_, index) => ids[index % ids.length] ?? '')
}

/** The contacts of all creates, each with its root contact. */
async function countCreated({ client, measured }: Testbed): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer as count from contacts
     where organization_id = $1 and email ~ '^bench-' and exists (select from root_contacts root
       where root.organization_id = contacts.organization_id and root.id = root_contact_id
         and root.email_key = contacts.email_key)`,
    [measured.organizationId],
  )
  return rows[0]?.count ?? 0
}

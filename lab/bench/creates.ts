import { readId } from '../../server/src/platform/model/ids.ts'
import { type Fresh, pack } from './exchange.ts'
import { headersOf, requestBytes } from './http.ts'
import { numberMark } from './load.ts'
import { measureRow } from './measure.ts'
import { Random } from './people.ts'
import { makeContact } from './records.ts'
import { type Exchange, type Recorder, startRecorder } from './recording.ts'
import { poolSize, usualConnections } from './reads.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import { type Stage, startFloor } from './stage.ts'

/** Different contacts; the number in each makes every one another. */
const templates = 64
/** Above every number of the turns: those of the recorded creates. */
const firstRecorded = 98_765_000

/** How many contacts can be made; what floor and driver make are contacts too. */
export async function measureCreates(stage: Stage): Promise<Row[]> {
  const { account, place, options, say } = stage
  const headers = headersOf(account)
  const recorder = await startRecorder({ connection: stage.connection, dataFolder: place.dataFolder, headers })
  const recorded = await recordCreates(recorder).finally(() => recorder.close())
  const connection = { ...stage.connection, options: recorder.settings }
  const packed = pack(recorded.map(({ exchange }) => exchange))
  const fresh = recorded.map((one) => one.fresh)
  const floor = await startFloor({ connection, connections: poolSize, creates: { packed, fresh } })
  const driver = { name: 'driver', connection, packed, fresh, lengths: fresh.map(() => null) } as const
  const requests = bodies(() => numberMark).map((body) => ({
    bytes: requestBytes('POST', '/v5/contacts', headers, body),
    length: undefined,
  }))
  const rows: Row[] = []
  let made = recorded.length
  for (const connections of options.connections ?? usualConnections) {
    say(`${rowNames.created}, ${connections} at a time…`)
    const load = { name: rowNames.created, requests, status: 201, connections, seconds: options.seconds }
    const { row, good } = await measureRow({ ...stage, rounds: options.rounds }, [floor, driver], load)
    made += good.service + good.floor + good.driver
    rows.push(row)
  }
  await floor.stop()
  await assertMade(stage, made)
  return rows
}

/** What a caller sends, `number` in place of what no two may share. */
function bodies(number: (template: number) => string): string[] {
  const random = new Random(templates)
  const owner = { organizationId: '', teamId: '', number: 0 }
  return Array.from({ length: templates }, (_, template) => {
    const made = makeContact(random, owner, template, 0)
    return JSON.stringify({
      email: `bench-${template}-${number(template)}@example.com`,
      firstName: made.first_name,
      lastName: made.last_name,
      phone: `+4930${5_000_000 + template}`,
      tags: made.tags,
      customProperties: { ...Object(made.custom_properties), customerNumber: `B-${number(template)}` },
    })
  })
}

async function recordCreates(recorder: Recorder): Promise<{ exchange: Exchange; fresh: Fresh }[]> {
  const recorded = []
  const numberOf = (template: number) => String(firstRecorded + template)
  for (const [template, body] of bodies(numberOf).entries()) {
    const headers = { 'content-type': 'application/json' }
    const { exchange, text } = await recorder.record('/v5/contacts', { method: 'POST', body, headers })
    const { id, rootContactId } = JSON.parse(text) as { id: string; rootContactId: string }
    const ids = [readId('con', id), readId('rcn', rootContactId)].filter((uuid) => uuid !== undefined)
    recorded.push({ exchange, fresh: { ids, number: numberOf(template) } })
  }
  return recorded
}

/** Every 201 is a contact, with a person behind it. */
async function assertMade({ client, measured }: Stage, wanted: number): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer as count from contacts
     where organization_id = $1 and email ~ '^bench-' and exists (select from root_contacts root
       where root.organization_id = contacts.organization_id and root.id = root_contact_id
         and root.email_key = contacts.email_key)`,
    [measured.organizationId],
  )
  const made = rows[0]?.count
  if (made !== wanted) throw new Error(`${wanted} contacts were created, but there are ${made}.`)
}

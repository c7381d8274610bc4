import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { eventsOf } from './purged-events.ts'

type Row = Record<string, unknown>

/** A row, and whether the purge must leave it. */
interface ExpectedRow {
  row: Row
  stays: boolean
}

/** What `dealRows` needs of the other records, and of the rules for all records. */
interface Others {
  organization_id: string
  contacts: readonly ExpectedRow[]
  companies: readonly ExpectedRow[]
  /** The record as deleted this number of days ago, or not at all. */
  deletable: (deleted: number | null, row: Row) => ExpectedRow
}

const pick = fc.nat({ max: 20 })

/** Numbers refer to records of the other lists by index. */
export const dealData = (deleted: fc.Arbitrary<number | null>) =>
  fc.record({
    pipelines: fc.array(fc.record({ deleted }), { maxLength: 3 }),
    stages: fc.array(fc.record({ deleted, pipeline: pick }), { maxLength: 5 }),
    deals: fc.array(fc.record({ deleted, stage: pick, company: pick }), { maxLength: 6 }),
    links: fc.array(fc.record({ deleted, deal: pick, contact: pick }), { maxLength: 8 }),
  })
type DealData = ReturnType<typeof dealData> extends fc.Arbitrary<infer Value> ? Value : never

const itemAt = <Item>(items: readonly Item[], index: number): Item | undefined =>
  items.length === 0 ? undefined : items[index % items.length]

/** The rows of pipelines, stages, deals and what belongs to them; a record that a deal needs must remain. */
export function dealRows(generated: DealData, { organization_id, contacts, companies, deletable }: Others) {
  const pipelines = generated.pipelines.map(({ deleted }) => deletable(deleted, { name: randomUUID() }))
  const stages = generated.stages.flatMap(({ deleted, pipeline }) => {
    const ofPipeline = itemAt(pipelines, pipeline)
    const values = { name: 'Any', position: 0, probability: 0 }
    return ofPipeline ? [{ ...deletable(deleted, { ...values, pipeline_id: ofPipeline.row.id }), ofPipeline }] : []
  })
  const deals = generated.deals.flatMap(({ deleted, stage, company }) => {
    const [ofStage, ofCompany] = [itemAt(stages, stage), itemAt(companies, company)]
    if (!ofStage) return []
    const { id, pipeline_id } = ofStage.row
    const place = { stage_id: id, pipeline_id, company_id: ofCompany?.row.id ?? null }
    const times = { stage_changed_at: new Date().toISOString() }
    return [
      {
        ...deletable(deleted, { name: 'Any', currency: 'EUR', position: '0', ...place, ...times }),
        ofStage,
        ofCompany,
      },
    ]
  })
  for (const { stays, ofStage } of deals) if (stays) ofStage.stays = ofStage.ofPipeline.stays = true
  for (const stage of stages) stage.stays &&= stage.ofPipeline.stays
  const linked = new Set<string>()
  const links = generated.links.flatMap(({ deleted, deal, contact }) => {
    const [ofDeal, ofContact] = [itemAt(deals, deal), itemAt(contacts, contact)]
    const pair = `${ofDeal?.row.id} ${ofContact?.row.id}`
    if (!ofDeal || !ofContact || linked.has(pair)) return []
    linked.add(pair)
    const link = deletable(deleted, { deal_id: ofDeal.row.id, contact_id: ofContact.row.id })
    return [{ ...link, stays: link.stays && ofDeal.stays && ofContact.stays }]
  })
  const moves = deals.map(({ row, stays }) => {
    const stage = {
      from_stage_id: randomUUID(),
      from_stage_name: 'Any',
      to_stage_id: randomUUID(),
      to_stage_name: 'Any',
    }
    const move = { organization_id, id: randomUUID(), deal_id: row.id, ...stage, seconds_in_stage: 0 }
    return { row: move, stays }
  })
  const history = deals.map(({ row, stays }) => {
    const change = { organization_id, id: randomUUID(), deal_id: row.id, action: 'updated', source: 'person' }
    return { row: { ...change, changes: [] }, stays }
  })
  const events = eventsOf(organization_id, deals)
  return { pipelines, stages, deals, deal_contacts: links, stage_moves: moves, deal_changes: history, events }
}

import type { Employer } from './companies.ts'
import type { GeneratedRecord } from './generated-record.ts'
import { dealProperties } from './properties.ts'
import { Random } from './random.ts'
import { formatInstant, idAt, type Timeline } from './timeline.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const day = 24 * 60 * 60 * 1000

/** A stage of the pipeline, in order; ids are uuids. */
export interface DemoStage {
  id: string
  pipelineId: string
  name: string
  kind: 'open' | 'won' | 'lost'
}

/** A company with the contacts (uuids) that can be part of a deal. */
export interface Customer {
  employer: Employer
  contacts: readonly string[]
}

/** A deal with its contacts, its moves between stages and its history. */
export interface GeneratedDeal {
  deal: GeneratedRecord
  contacts: GeneratedRecord[]
  moves: GeneratedRecord[]
  /** The rows of `deal_changes`, without the organization. */
  changes: { id: string; action: string; changes: JsonObject[]; createdAt: string }[]
}

/** Generates deals: most are open and recent, older ones are won or lost, and some open ones need attention. */
export class Deals {
  readonly #random: Random
  readonly #properties: Random
  readonly #timeline: Timeline
  readonly #stages: readonly DemoStage[]
  readonly #ownerId: string

  constructor(seed: number, timeline: Timeline, stages: readonly DemoStage[], ownerId: string) {
    this.#random = new Random(seed + 2)
    // Of their own, so that the other values stay the same.
    this.#properties = new Random(seed + 4)
    this.#timeline = timeline
    this.#stages = stages
    this.#ownerId = ownerId
  }

  /** Generates the deal with this index of `count`; higher ones are more recent. */
  make(index: number, count: number, { employer, contacts }: Customer): GeneratedDeal {
    const random = this.#random
    const currency = currencyOf(employer)
    const end = this.#timeline.end
    const createdAt = Math.floor(Math.max(employer.createdAt, end - 500 * day * (1 - index / count) ** 1.5 - 3 * day))
    const path = this.#pathOf(end - createdAt)
    const times = timesOf(createdAt, end, path.length, random)
    const current = path.at(-1)
    const enteredAt = times.at(-1) ?? createdAt
    if (!current) throw new Error('a deal is in a stage')
    const id = idAt(createdAt)
    const amount = amountOf(random)
    const values: JsonObject = {
      id: `del_${id}`,
      name: random.pick(topicsOf(employer)),
      amount: random.chance(0.95) ? amount : null,
      currency,
      pipelineId: `pip_${current.pipelineId.replaceAll('-', '')}`,
      stageId: `stg_${current.id.replaceAll('-', '')}`,
      status: current.kind,
      lostReason: current.kind === 'lost' && random.chance(0.8) ? random.pick(lostReasons) : null,
      ownerId: random.chance(0.9) ? this.#ownerId : null,
      companyId: `com_${employer.id}`,
      expectedCloseDate: random.chance(0.85) ? dateAt(createdAt + (40 + random.integerBelow(140)) * day) : null,
      position: String(count - index),
      customProperties: dealProperties(this.#properties, currency),
      stageChangedAt: formatInstant(enteredAt),
      closedAt: current.kind === 'open' ? null : formatInstant(enteredAt),
      lastActivityAt: path.length > 1 ? formatInstant(enteredAt) : null,
      createdAt: formatInstant(createdAt),
      updatedAt: formatInstant(enteredAt),
    }
    return {
      deal: { values, hidden: {}, revision: path.length },
      contacts: this.#contactsOf(id, createdAt, contacts),
      moves: path
        .slice(1)
        .map((stage, step) => this.#moveOf(id, [path[step] ?? stage, stage], times.slice(step, step + 2))),
      changes: changesOf(values, { createdAt, enteredAt, isChanged: random.chance(0.4) }),
    }
  }

  /** The stages that the deal has been in: the older it is, the further it got. */
  #pathOf(age: number): DemoStage[] {
    const random = this.#random
    const open = this.#stages.filter(({ kind }) => kind === 'open')
    const [won, lost] = (['won', 'lost'] as const).map((kind) => this.#stages.find((stage) => stage.kind === kind))
    const isClosed = random.chance(Math.min(0.92, age / (220 * day)))
    const reached = isClosed ? 1 + random.integerBelow(open.length) : 1 + Math.floor(open.length * random.next() ** 1.4)
    const path = open.slice(0, Math.min(reached, open.length))
    const last = random.chance(0.25 + 0.15 * path.length) ? won : lost
    return isClosed && last ? [...path, last] : path
  }

  #moveOf(
    dealId: string,
    [from, to]: readonly [DemoStage, DemoStage],
    [since = 0, at = 0]: readonly number[],
  ): GeneratedRecord {
    const values = {
      id: `mov_${idAt(at)}`,
      dealId: `del_${dealId}`,
      fromStageId: `stg_${from.id.replaceAll('-', '')}`,
      fromStageName: from.name,
      toStageId: `stg_${to.id.replaceAll('-', '')}`,
      toStageName: to.name,
      secondsInStage: Math.floor((at - since) / 1000),
      movedById: this.#ownerId,
      createdAt: formatInstant(at),
    }
    return { values, hidden: {}, revision: 1 }
  }

  #contactsOf(dealId: string, createdAt: number, contacts: readonly string[]): GeneratedRecord[] {
    return contacts.slice(0, 1 + this.#random.integerBelow(3)).map((contact, index) => {
      const values = {
        id: `dct_${idAt(createdAt)}`,
        dealId: `del_${dealId}`,
        contactId: `con_${contact.replaceAll('-', '')}`,
        role: this.#random.chance(0.8) ? this.#random.pick(roles) : null,
        isPrimary: index === 0,
        createdAt: formatInstant(createdAt),
        updatedAt: formatInstant(createdAt),
      }
      return { values, hidden: {}, revision: 1 }
    })
  }
}

/** When the deal entered each stage: in order, at most two months apart, and before the end. */
function timesOf(createdAt: number, end: number, count: number, random: Random): number[] {
  const times = [createdAt]
  while (times.length < count) {
    const previous = times.at(-1) ?? createdAt
    const left = Math.max(1000, end - previous)
    times.push(
      previous + Math.floor(Math.min(left / (count - times.length + 1), 60 * day) * (0.2 + 0.8 * random.next())),
    )
  }
  return times
}

function changesOf(
  { amount = null, currency = null, expectedCloseDate = null }: JsonObject,
  { createdAt, enteredAt, isChanged }: { createdAt: number; enteredAt: number; isChanged: boolean },
): GeneratedDeal['changes'] {
  const at = Math.floor((createdAt + enteredAt) / 2)
  const changed: JsonObject[] = [
    ...(amount === null ? [] : [{ field: 'amount', before: null, after: amount }]),
    ...(expectedCloseDate === null ? [] : [{ field: 'expectedCloseDate', before: null, after: expectedCloseDate }]),
  ]
  const created = { id: idAt(createdAt), action: 'created', changes: [], createdAt: formatInstant(createdAt) }
  if (!isChanged || changed.length === 0 || currency === null) return [created]
  return [created, { id: idAt(at), action: 'updated', changes: changed, createdAt: formatInstant(at) }]
}

/** From 800 to a quarter of a million, in round numbers; small ones are more frequent. */
function amountOf(random: Random): string {
  const amount = 800 * (250_000 / 800) ** (random.next() ** 1.4)
  const step = amount < 10_000 ? 50 : 500
  return `${Math.round(amount / step) * step}.00`
}

const dateAt = (time: number): string => formatInstant(time).slice(0, 10)

const currencies: Readonly<Record<string, string>> = { US: 'USD', GB: 'GBP', CH: 'CHF' }
const currencyOf = ({ place }: Employer): string => currencies[place.country] ?? 'EUR'

const topics: Readonly<Record<string, readonly string[]>> = {
  de: [
    ...['Rahmenvertrag', 'Pilotprojekt', 'Wartungsvertrag', 'Schulung Vertrieb', 'Erweiterung um 40 Plätze'],
    ...['Verlängerung 2027', 'Einführung, 12 Standorte', 'Datenübernahme', 'Ersatzteile', 'Beratung, 20 Tage'],
  ],
  en: [
    ...['Framework agreement', 'Pilot, 40 seats', 'Support contract', 'Sales training', 'Forty more seats'],
    ...['Renewal 2027', 'Onboarding, 12 sites', 'Data migration', 'Spare parts', 'Warehouse rollout'],
    ...['Security review', 'API add-on', 'Annual licence', 'Consulting, 20 days', 'Event partnership'],
  ],
}
const topicsOf = ({ place }: Employer): readonly string[] => topics[place.language.code] ?? topics.en ?? []

const roles = ['decision_maker', 'champion', 'influencer', 'budget_holder', 'user', 'legal'] as const

const lostReasons = [
  'Too expensive',
  'Chose a competitor',
  'No budget this year',
  'No answer any more',
  'A feature was missing',
] as const

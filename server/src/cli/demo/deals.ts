import { recordAt } from './activity.ts'
import type { Employer } from './companies.ts'
import { demoData, writtenSeed } from './data.ts'
import type { GeneratedRecord } from './generated-record.ts'
import { itemAt, Random } from './random.ts'
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
  /** The rows of `events`, without the organization. */
  changes: { id: string; action: string; changes: JsonObject[]; createdAt: string }[]
}

const byAge = demoData.deals.toSorted((one, other) => one.recency - other.recency)

/** Generates deals: most are open and recent, older ones are won or lost, and some open ones need attention. */
export class Deals {
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #stages: readonly DemoStage[]
  readonly #ownerId: string
  readonly #seed: number

  constructor(seed: number, timeline: Timeline, stages: readonly DemoStage[], ownerId: string) {
    this.#seed = seed
    this.#random = new Random(seed + 2)
    this.#timeline = timeline
    this.#stages = stages
    this.#ownerId = ownerId
  }

  /** Generates the deal with this index of `count`; higher ones are more recent. */
  make(index: number, count: number, { employer, contacts }: Customer): GeneratedDeal {
    const [random, { end }] = [this.#random, this.#timeline]
    const written = this.#isVaried(index)
      ? itemAt(byAge, Math.floor(((index + random.next()) / count) * byAge.length))
      : itemAt(demoData.deals, index)
    const { country, language } = employer.place
    const currency = currencies[country] ?? 'EUR'
    const createdAt = Math.floor(Math.max(employer.createdAt, end - 500 * day * (1 - index / count) ** 1.5 - 3 * day))
    const path = this.#pathOf(written.openStages, written.outcome)
    const paces = this.#isVaried(index) ? path.map(() => 0.2 + 0.8 * random.next()) : (written.paces ?? [])
    const times = timesOf(createdAt, end, paces.slice(0, path.length - 1))
    const current = itemAt(path, path.length - 1)
    const enteredAt = times.at(-1) ?? createdAt
    const amount = (written.amount ?? 0) * (this.#isVaried(index) ? 0.6 + 0.8 * random.next() : 1)
    const names = demoData.dealNames[language.code === 'de' ? 'de' : 'en']
    const closesOn = written.closesIn === undefined ? null : dateAt(createdAt + written.closesIn * day)
    const { setupFee, ...properties } = written.customProperties ?? {}
    const deal = recordAt('del', createdAt, {
      name: this.#isVaried(index) ? random.pick(names) : written.name,
      amount: written.amount === undefined ? null : roundAmount(amount),
      currency,
      pipelineId: refTo('pip', current.pipelineId),
      stageId: refTo('stg', current.id),
      status: current.kind,
      lostReason: written.lostReason ?? null,
      ownerId: written.isOwned ? this.#ownerId : null,
      companyId: `com_${employer.id}`,
      expectedCloseDate: closesOn,
      position: String(count - index),
      customProperties: setupFee ? { ...properties, setupFee: { ...(setupFee as JsonObject), currency } } : properties,
      stageChangedAt: formatInstant(enteredAt),
      closedAt: current.kind === 'open' ? null : formatInstant(enteredAt),
      lastActivityAt: path.length > 1 ? formatInstant(enteredAt) : null,
    })
    deal.values.updatedAt = formatInstant(enteredAt)
    const dealId = String(deal.values.id)
    return {
      deal: { ...deal, revision: path.length },
      contacts: contacts.slice(0, written.roles.length).map((contact, place) => {
        const role = written.roles[place] ?? null
        return recordAt('dct', createdAt, { dealId, contactId: refTo('con', contact), role, isPrimary: place === 0 })
      }),
      moves: path.slice(1).map((stage, step) => {
        const [from, since = 0, at = 0] = [itemAt(path, step), times[step], times[step + 1]]
        return recordAt('mov', at, {
          dealId,
          fromStageId: refTo('stg', from.id),
          fromStageName: from.name,
          toStageId: refTo('stg', stage.id),
          toStageName: stage.name,
          secondsInStage: Math.floor((at - since) / 1000),
          movedById: this.#ownerId,
        })
      }),
      changes: changesOf(deal.values, { createdAt, enteredAt, isChanged: written.isChanged ?? false }),
    }
  }

  #isVaried(index: number): boolean {
    return this.#seed !== writtenSeed || index >= demoData.deals.length
  }

  /** The stages that the deal has been in. */
  #pathOf(openStages: number, outcome: 'won' | 'lost' | undefined): DemoStage[] {
    const path = this.#stages.filter(({ kind }) => kind === 'open').slice(0, openStages)
    return [...path, ...this.#stages.filter(({ kind }) => kind === outcome).slice(0, 1)]
  }
}

const refTo = (prefix: string, uuid: string): string => `${prefix}_${uuid.replaceAll('-', '')}`

/** When the deal entered each stage: in order, at most two months apart, and before the end. */
function timesOf(createdAt: number, end: number, paces: readonly number[]): number[] {
  const times = [createdAt]
  for (const [step, pace] of paces.entries()) {
    const previous = times.at(-1) ?? createdAt
    const left = Math.max(1000, end - previous)
    times.push(previous + Math.floor(Math.min(left / (paces.length - step + 1), 60 * day) * pace))
  }
  return times
}

function changesOf(
  { amount = null, expectedCloseDate = null }: JsonObject,
  { createdAt, enteredAt, isChanged }: { createdAt: number; enteredAt: number; isChanged: boolean },
): GeneratedDeal['changes'] {
  const at = Math.floor((createdAt + enteredAt) / 2)
  const changed = Object.entries({ amount, expectedCloseDate }).flatMap(([field, after]) =>
    after === null ? [] : [{ field, before: null, after }],
  )
  const created = { id: idAt(createdAt), action: 'created', changes: [], createdAt: formatInstant(createdAt) }
  if (!isChanged || changed.length === 0) return [created]
  return [created, { id: idAt(at), action: 'updated', changes: changed, createdAt: formatInstant(at) }]
}

const roundAmount = (amount: number): string => {
  const step = amount < 10_000 ? 50 : 500
  return `${Math.round(amount / step) * step}.00`
}

const dateAt = (time: number): string => formatInstant(time).slice(0, 10)

const currencies: Readonly<Record<string, string>> = { US: 'USD', GB: 'GBP', CH: 'CHF' }

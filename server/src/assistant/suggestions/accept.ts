import type { Transaction } from '../../platform/database/database.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { bodyShape, parseBody } from '../../platform/records/request/body.ts'
import { writeOne } from '../../platform/records/write/store.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { deals } from '../../crm/deals/resource.ts'
import { dealStore } from '../../crm/deals/store.ts'
import { stages } from '../../crm/stages/resource.ts'
import { tasks } from '../../crm/tasks/resource.ts'
import { taskStore } from '../../crm/tasks/store.ts'
import { type ActionType, maxTitleLength, stageKinds } from '../analysis/analysis.ts'
import {
  findDeals,
  findTargetStage,
  type FoundDeal,
  readRecordName,
  recordOf,
  type Suggestion,
} from './decision-store.ts'
import { differencesFrom } from './edits.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** What accepting a suggestion did, as columns of the suggestion, and what differed from it. */
export interface Effect {
  columns: { result_task_id?: string; result_deal_id?: string; result_contact_id?: string }
  edits: JsonObject | null
}

interface Kind {
  /** The scope that the caller needs for the effect. */
  scope: string
  apply: (transaction: Transaction, suggestion: Suggestion, edits: JsonObject) => Promise<Effect>
}

const task: Kind = { scope: 'task:create:write', apply: createTask }

/** What accepting each type of suggestion does. There are no sequences of mails yet, so a person stops them. */
export const kinds: Readonly<Record<ActionType, Kind>> = {
  reply: task,
  call: task,
  schedule_meeting: task,
  create_task: task,
  wait_until: task,
  stop_campaign: task,
  change_stage: { scope: 'deal:update:write', apply: moveDeal },
  add_contact: { scope: 'contact:create:write', apply: addContact },
  suppress: { scope: 'contact:update:write', apply: optOut },
}

async function createTask(transaction: Transaction, suggestion: Suggestion, edits: JsonObject): Promise<Effect> {
  const { priority, dueAt } = suggestion
  const title = titleFor(suggestion, await readRecordName(transaction, suggestion))
  const suggested = { title, priority, ...(dueAt !== null && { dueAt }) }
  const isMoved = 'dueDate' in edits
  const { dueAt: _, ...undated } = suggested
  const isDefault = suggestion.dueAtSource === 'default' && !isMoved && !('dueAt' in edits)
  const values = {
    ...(isDefault && { body: defaultDateText }),
    ...(isMoved ? undated : suggested),
    ...edits,
    ...recordOf(suggestion).reference,
  }
  const body = parseBody(bodyShape(tasks, 'create'), values)
  const { id } = await writeOne(taskStore, transaction, { kind: 'create', values: body })
  return { columns: { result_task_id: id }, edits: differencesFrom(suggested, edits) }
}

/** The text of a task whose date nobody wrote. */
const defaultDateText = 'The note names no date. This due date is the usual wait.'

const titles: Partial<Record<ActionType, string>> = {
  reply: 'Reply to',
  call: 'Call',
  schedule_meeting: 'Schedule a meeting with',
  wait_until: 'Get back to',
  stop_campaign: 'Stop campaigns for',
}

function titleFor({ type, params }: Suggestion, name: string | null): string {
  if (typeof params.title === 'string') return params.title
  const phone = typeof params.phone === 'string' ? `: ${params.phone}` : ''
  const verb = titles[type] ?? 'Get back to'
  const room = maxTitleLength - verb.length - phone.length - 1
  return `${verb} ${[...(name ?? 'the contact')].slice(0, room).join('')}${phone}`
}

async function moveDeal(transaction: Transaction, suggestion: Suggestion, edits: JsonObject): Promise<Effect> {
  const deal = chooseDeal(suggestion, await findDeals(transaction, suggestion), edits)
  const kind = stageKinds.find((one) => one === suggestion.params.stageKind) ?? 'open'
  const target = await findTargetStage(transaction, deal.id, kind)
  const suggested = target === undefined ? {} : { stageId: encodeId(stages.idPrefix, target) }
  const { stageId, lostReason } = { ...suggested, ...edits } as JsonObject
  if (typeof stageId !== 'string') {
    throw invalidBody([{ field: 'stageId', message: `required, because the pipeline has no further ${kind} stage` }])
  }
  const values = { stageId, ...(lostReason !== undefined && { lostReason }) }
  await writeOne(dealStore, transaction, { kind: 'update', id: deal.id, values })
  return { columns: { result_deal_id: deal.id }, edits: differencesFrom(suggested, edits) }
}

/** Throws 422 unless exactly one deal can be meant. */
function chooseDeal(suggestion: Suggestion, found: readonly FoundDeal[], { dealId }: JsonObject): FoundDeal {
  const { noun } = recordOf(suggestion)
  const error = (message: string) => invalidBody([{ field: 'dealId', message }])
  const [only, ...others] = found
  if (!only) throw error(`the ${noun} has no open deal`)
  if (typeof dealId === 'string') {
    const named = found.find(({ id }) => encodeId(deals.idPrefix, id) === dealId)
    if (!named) throw error(`is not an open deal of this ${noun}`)
    return named
  }
  if (others.length === 0) return only
  const list = found.map(({ id, name }) => `${encodeId(deals.idPrefix, id)} (${name})`).join(', ')
  throw error(`required, because the ${noun} has several open deals: ${list}`)
}

async function addContact(transaction: Transaction, { params }: Suggestion, edits: JsonObject): Promise<Effect> {
  const body = parseBody(bodyShape(contacts, 'create'), { ...params, ...edits })
  const { id } = await writeOne(contactStore, transaction, { kind: 'create', values: body })
  return { columns: { result_contact_id: id }, edits: differencesFrom(params, edits) }
}

async function optOut(transaction: Transaction, suggestion: Suggestion, edits: JsonObject): Promise<Effect> {
  const contactId = suggestion.contactId ?? edits.contactId
  if (typeof contactId !== 'string') {
    const message = `required, because the note is on a ${recordOf(suggestion).noun}: the contact who opts out`
    throw invalidBody([{ field: 'contactId', message, missing: true }])
  }
  if ((edits.contactId ?? contactId) !== contactId) {
    throw invalidBody([{ field: 'contactId', message: 'is not the contact of the note' }])
  }
  const id = decodeId(contacts.idPrefix, contactId) ?? ''
  await writeOne(contactStore, transaction, { kind: 'update', id, values: { emailOptOut: true } }).catch((error) => {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    throw invalidBody([{ field: 'contactId', message: 'no contact with this id exists' }])
  })
  return { columns: { result_contact_id: id }, edits: null }
}

import type { GeneratedRecord } from './generated-record.ts'
import { noteAt } from './histories.ts'
import { Random } from './random.ts'
import { formatInstant, idAt, type Timeline } from './timeline.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A record that tasks and notes are on. */
export interface Subject {
  /** The field that names it, such as `contactId`. */
  reference: JsonObject
  createdAt: number
  /** Time of the last activity, if any. */
  activeAt: number | undefined
}

/** The time of the last note: some minutes before the task that was the last activity, or that activity itself. */
export function noteTime(
  { createdAt, activeAt }: Omit<Subject, 'reference'>,
  tasks: readonly GeneratedRecord[],
): number | undefined {
  if (activeAt === undefined || tasks.length === 0) return activeAt
  return Math.max(createdAt, activeAt - 4 * minute)
}

/** Generates tasks and notes from its own random numbers, so that those of everything else do not depend on it. */
export class Tasks {
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #ownerId: string

  constructor(seed: number, timeline: Timeline, ownerId: string) {
    this.#random = new Random(seed + 1)
    this.#timeline = timeline
    this.#ownerId = ownerId
  }

  /** The last activity of the record was that its task was created, or done. */
  tasksOf({ reference, createdAt, activeAt }: Subject): GeneratedRecord[] {
    const random = this.#random
    if (activeAt === undefined) return []
    const isRecent = this.#timeline.end - activeAt < 45 * day
    if (!random.chance(isRecent ? 0.3 : 0.06)) return []
    const isDone = !isRecent || random.chance(0.3)
    const madeAt = isDone ? this.#timeline.between(createdAt, activeAt, random.next()) : activeAt
    const values = {
      id: `tsk_${idAt(madeAt)}`,
      title: random.pick(titles),
      body: random.chance(0.2) ? random.pick(bodies) : null,
      ...this.#due(madeAt),
      timeZone: 'UTC',
      assigneeId: random.chance(0.9) ? this.#ownerId : null,
      priority: random.pickSkewed(['normal', 'high', 'low', 'urgent']),
      done: isDone,
      doneAt: isDone ? formatInstant(activeAt) : null,
      ...reference,
      createdById: this.#ownerId,
      createdAt: formatInstant(madeAt),
      updatedAt: formatInstant(isDone ? activeAt : madeAt),
    }
    return [{ values, hidden: {}, revision: isDone ? 2 : 1 }]
  }

  /** The last activity of the record was that its note was written. */
  notesOf({ reference, activeAt }: Subject): GeneratedRecord[] {
    if (activeAt === undefined || !this.#random.chance(0.25)) return []
    return [noteAt(activeAt, { reference, body: this.#random.pick(companyNotes), authorId: this.#ownerId })]
  }

  /** Mostly a day, sometimes a time of day within office hours, sometimes neither. */
  #due(madeAt: number): { dueDate: string | null; dueAt: string | null; deadline: string | null } {
    const random = this.#random
    const midnight = Math.floor(madeAt / day) * day + (1 + random.integerBelow(30)) * day
    if (random.chance(0.15)) return { dueDate: null, dueAt: null, deadline: null }
    if (random.chance(0.3)) {
      const dueAt = formatInstant(midnight + 8 * hour + random.integerBelow(18) * (hour / 2))
      return { dueDate: null, dueAt, deadline: dueAt }
    }
    return { dueDate: formatInstant(midnight).slice(0, 10), dueAt: null, deadline: formatInstant(midnight + day) }
  }
}

const titles = [
  'Call back about the quote',
  'Send the signed contract',
  'Prepare the demo',
  'Check the delivery date',
  'Ask for a reference',
  'Angebot nachfassen',
  'Rechnungsadresse klären',
  'Rappeler pour fixer un rendez-vous',
  'Enviar el catálogo y los precios',
]

const bodies = [
  'Before the call:\n\n- read the last **two** notes\n- check open invoices',
  'They asked for:\n\n1. a price for 40 seats\n2. the terms of support',
  'See the [price list](https://prices.example/2026).',
]

const companyNotes = [
  'Moved to a new office; the **postal address** has changed.',
  'Budget for next year is decided in autumn.\n\n- purchasing signs\n- IT reviews security',
  'Rahmenvertrag läuft bis Jahresende, Verlängerung im Gespräch.',
  'Nouveau directeur des achats depuis mars.',
]

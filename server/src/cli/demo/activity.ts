import type { WrittenNote, WrittenPerson, WrittenTask } from './data.ts'
import type { Employer } from './companies.ts'
import type { GeneratedRecord } from './generated-record.ts'
import type { Random } from './random.ts'
import { formatInstant, formatMonth, idAt, Timeline } from './timeline.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A record that tasks and notes are on. */
interface Subject {
  written: { notes?: readonly WrittenNote[]; tasks?: readonly WrittenTask[] }
  isVaried: boolean
  /** The field that names it, such as `contactId`. */
  reference: JsonObject
  createdAt: number
  /** Time of the last activity, if any. */
  activeAt: number | undefined
}

interface Employee {
  written: WrittenPerson
  isVaried: boolean
  id: string
  employer: Employer | undefined
  createdAt: number
}

/** Generates what happened with people and companies. */
export class Activity {
  readonly #options: { random: Random; timeline: Timeline; employers: readonly Employer[]; ownerId: string }

  constructor(options: { random: Random; timeline: Timeline; employers: readonly Employer[]; ownerId: string }) {
    this.#options = options
  }

  /** The last activity of the record was a note or a task. */
  of(subject: Subject): { notes: GeneratedRecord[]; tasks: GeneratedRecord[] } {
    const { written, reference, createdAt, activeAt } = subject
    const { timeline, ownerId } = this.#options
    const { notes = [], tasks = [] } = written
    if (activeAt === undefined || notes.length + tasks.length === 0) return { notes: [], tasks: [] }
    // Some minutes before the task that was the last activity.
    const lastAt = tasks.length === 0 ? activeAt : Math.max(createdAt, activeAt - 4 * minute)
    return {
      notes: notes.map(({ body, at = 1 }) =>
        recordAt('not', timeline.between(createdAt, lastAt, at), {
          // Not queued: a demo must not cause work for the reasoning step.
          ...{ body, source: 'manual', importRowId: null, reasoningQueuedAt: null },
          ...reference,
          authorId: ownerId,
        }),
      ),
      tasks: tasks.map((task) => this.#taskOf(task, { ...subject, activeAt })),
    }
  }

  #taskOf(task: WrittenTask, { reference, createdAt, activeAt, isVaried }: Subject & { activeAt: number }) {
    const { random, timeline, ownerId } = this.#options
    const isRecent = timeline.end - activeAt < 45 * day
    const made = task.made ?? (isVaried && !isRecent ? random.next() : undefined)
    const isDone = made !== undefined
    const madeAt = isDone ? timeline.between(createdAt, activeAt, made) : activeAt
    const { dueDays, dueHours } = task
    const due = dueDays === undefined ? undefined : (Math.floor(madeAt / day) + dueDays) * day
    const dueAt = due === undefined || dueHours === undefined ? null : formatInstant(due + dueHours * hour)
    const record = recordAt('tsk', madeAt, {
      title: task.title,
      body: task.body ?? null,
      dueAt,
      dueDate: due === undefined || dueAt !== null ? null : formatInstant(due).slice(0, 10),
      deadline: dueAt ?? (due === undefined ? null : formatInstant(due + day)),
      timeZone: 'UTC',
      assigneeId: task.isAssigned ? ownerId : null,
      priority: task.priority,
      done: isDone,
      doneAt: isDone ? formatInstant(activeAt) : null,
      ...reference,
      createdById: ownerId,
    })
    if (isDone) Object.assign(record, { revision: 2 }).values.updatedAt = formatInstant(activeAt)
    return record
  }

  /** The current job of a person, and some previous ones. */
  jobsOf({ written, isVaried, id, employer, createdAt }: Employee): GeneratedRecord[] {
    const { random, employers } = this.#options
    const month = Timeline.monthOf(createdAt)
    return (written.jobs ?? []).map(({ organization, title = null, start, end }) => {
      const isCurrent = end === undefined
      const isHere = isVaried ? isCurrent : employer?.name === organization
      const company = isHere ? employer : isVaried ? random.pick(employers) : undefined
      return recordAt('emp', createdAt, {
        contactId: `con_${id}`,
        organization: company?.name ?? organization,
        companyId: company && company.createdAt <= createdAt ? `com_${company.id}` : null,
        title,
        current: isCurrent,
        start: formatMonth(month - start),
        end: isCurrent ? null : formatMonth(month - end),
      })
    })
  }
}

/** A record that was made at this time and never changed. */
export const recordAt = (prefix: string, time: number, values: JsonObject): GeneratedRecord => ({
  values: { id: `${prefix}_${idAt(time)}`, ...values, createdAt: formatInstant(time), updatedAt: formatInstant(time) },
  hidden: {},
  revision: 1,
})

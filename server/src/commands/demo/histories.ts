import type { Companies } from './companies.ts'
import type { Made } from './made.ts'
import type { Person } from './people.ts'
import type { Random } from './random.ts'
import { instant, month, Timeline } from './timeline.ts'

interface Parts {
  random: Random
  timeline: Timeline
  companies: Companies
}

const kinds = { job: 20, note: 21 }
/** More than anyone has of either. */
const most = 4

/** The job that a person has, and some that it had. */
export function jobsOf(person: Person, { random, timeline, companies }: Parts): Made[] {
  const { employer, title, locale, createdAt } = person
  random.of(kinds.job, person.index)
  if (!random.isLikely(0.26)) return []
  const jobs: Made[] = []
  const add = (organization: string, words: { title: string | null; start: number; end: number | null }) => {
    const number = jobs.length
    const id = timeline.id(createdAt, kinds.job, person.index * most + number)
    const values = {
      id: `emp_${id}`,
      contactId: `con_${person.id}`,
      organization,
      title: words.title,
      current: words.end === null,
      start: month(words.start),
      end: words.end === null ? null : month(words.end),
      createdAt: instant(createdAt),
      updatedAt: instant(createdAt),
    }
    jobs.push({ values, hidden: {}, revision: 1 })
  }
  let until = Timeline.monthOf(createdAt) - random.below(90)
  const past = random.below(3)
  const former = Array.from({ length: past }, () => ({
    company: random.below(companies.count),
    title: random.isLikely(0.8) ? random.one(locale.titles).title : null,
    gap: random.below(4),
    months: 6 + random.below(80),
  }))
  if (employer) add(employer.name, { title: title?.title ?? null, start: until, end: null })
  for (const { company, title: held, gap, months } of former) {
    const end = until - gap
    until = end - months
    add(companies.employer(company).name, { title: held, start: until, end })
  }
  return jobs
}

/** What somebody wrote down about a person: the last time that something happened was a note. */
export function notesOf(person: Person, { random, timeline }: Parts, authorId: string): Made[] {
  const { activeAt, createdAt, locale, index } = person
  random.of(kinds.note, index)
  if (activeAt === undefined || !random.isLikely(0.12)) return []
  const count = 1 + (random.isLikely(0.3) ? 1 : 0)
  const first = random.below(locale.notes.length)
  return Array.from({ length: count }, (_, number) => {
    const at = number === 0 ? activeAt : timeline.between(createdAt, activeAt, random.next())
    const values = {
      id: `not_${timeline.id(at, kinds.note, index * most + number)}`,
      contactId: `con_${person.id}`,
      body: locale.notes[(first + number) % locale.notes.length] ?? '',
      source: 'manual',
      authorId,
      importRowId: null,
      // It has been read: a demo is no work for the reasoning step.
      reasoningQueuedAt: null,
      createdAt: instant(at),
      updatedAt: instant(at),
    }
    return { values, hidden: {}, revision: 1 }
  })
}

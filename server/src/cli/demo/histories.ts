import type { Companies } from './companies.ts'
import type { GeneratedRecord } from './generated-record.ts'
import type { Random } from './random.ts'
import { idAt, formatInstant, formatMonth, Timeline } from './timeline.ts'
import type { Title, Person } from './person.ts'
import type { JsonObject } from '../../platform/model/json.ts'

interface DemoContext {
  random: Random
  timeline: Timeline
  companies: Companies
}

const areas = ['Sales', 'Marketing', 'Purchasing', 'Operations', 'Finance', 'Product', 'Support', 'Logistics']
const levels = Object.entries({
  '% Intern': 'intern',
  'Junior % Associate': 'junior',
  '% Specialist': 'mid',
  'Senior % Engineer': 'senior',
  '% Manager': 'manager',
  'Head of %': 'head',
  '% Director': 'director',
  'VP %': 'vp',
  'Chief % Officer': 'c_suite',
})

export function titleOf(random: Random): Title {
  const [template, seniority] = random.pick(levels)
  return { title: template.replace('%', random.pick(areas)), seniority }
}

/** The current job of a person, and some previous ones. */
export function jobsOf(person: Person, { random, companies }: DemoContext): GeneratedRecord[] {
  const { employer, title, createdAt } = person
  if (!random.chance(0.26)) return []
  const jobs: GeneratedRecord[] = []
  const add = (organization: string, details: { title: string | null; start: number; end: number | null }) => {
    const values = {
      id: `emp_${idAt(createdAt)}`,
      contactId: `con_${person.id}`,
      organization,
      title: details.title,
      current: details.end === null,
      start: formatMonth(details.start),
      end: details.end === null ? null : formatMonth(details.end),
      createdAt: formatInstant(createdAt),
      updatedAt: formatInstant(createdAt),
    }
    jobs.push({ values, hidden: {}, revision: 1 })
  }
  let until = Timeline.monthOf(createdAt) - random.integerBelow(90)
  const past = random.integerBelow(3)
  const former = Array.from({ length: past }, () => ({
    company: random.pick(companies.employers),
    title: random.chance(0.8) ? titleOf(random).title : null,
    gap: random.integerBelow(4),
    months: 6 + random.integerBelow(80),
  }))
  if (employer) add(employer.name, { title: title?.title ?? null, start: until, end: null })
  for (const { company, title: formerTitle, gap, months } of former) {
    const end = until - gap
    until = end - months
    add(company.name, { title: formerTitle, start: until, end })
  }
  return jobs
}

/** Notes on a person. The last activity of the person was a note. */
export function notesOf(person: Person, { random, timeline }: DemoContext, authorId: string): GeneratedRecord[] {
  const { activeAt, createdAt } = person
  if (activeAt === undefined || !random.chance(0.12)) return []
  const moments = random.chance(0.3) ? [activeAt, timeline.between(createdAt, activeAt, random.next())] : [activeAt]
  const reference = { contactId: `con_${person.id}` }
  return moments.map((moment) => noteAt(moment, { reference, body: random.pick(noteTexts), authorId }))
}

/** A note that was written at this time, on the record that the reference names. */
export function noteAt(
  moment: number,
  { reference, body, authorId }: { reference: JsonObject; body: string; authorId: string },
): GeneratedRecord {
  const values = {
    id: `not_${idAt(moment)}`,
    ...reference,
    body,
    source: 'manual',
    authorId,
    importRowId: null,
    // Not queued: a demo must not cause work for the reasoning step.
    reasoningQueuedAt: null,
    createdAt: formatInstant(moment),
    updatedAt: formatInstant(moment),
  }
  return { values, hidden: {}, revision: 1 }
}

const noteTexts = [
  'Asked for a quote for twelve seats; wants to hear back before the end of the month.',
  'Met at the spring conference.\nInterested in the partner programme, less so in training.',
  'Prefers a call in the afternoon. Don’t email on Fridays.',
  'Möchte ein Angebot über 40 Stück, Lieferung bis Ende des Quartals.',
  'À rappeler après la rentrée, budget validé pour l’année prochaine.',
  'Pide catálogo y precios con IVA; llamar por la mañana.',
]

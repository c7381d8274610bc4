import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lawTimes, seed } from '../../../test/seed.ts'
import { bodyShape, parseBody } from '../../platform/records/request/body.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import type { Field } from '../../platform/records/declare/field.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { employments } from '../../crm/employments/resource.ts'
import { notes } from '../../crm/notes/resource.ts'
import { tasks } from '../../crm/tasks/resource.ts'
import { phoneNumber } from '../../platform/model/phone.ts'
import { timeZoneName } from '../../platform/model/time-zone.ts'
import type { GeneratedRecord, GeneratedPerson } from './generated-record.ts'
import { type DemoOptions, People } from './people.ts'
import { demoData, makeTowns } from './data.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const day = Date.UTC(2026, 10, 21)
const ids = {
  organizationId: '01a20074-400d-72ad-a53f-04d2c4c46121',
  teamId: '01a20074-400d-72ad-a53f-0fb68acc882d',
  partnerTeamId: '01a20074-400d-72ad-a53f-0fb68acc882e',
  ownerId: '01a20074-400d-72ad-a53f-11f0604adaba',
  importId: '01a20074-400d-72ad-a53f-13f0604adaba',
}

function make(options: Partial<DemoOptions>) {
  const whole = { seed: 1, contacts: 4000, end: day, ...ids, ...options }
  const all = new People(whole)
  const people: GeneratedPerson[] = Array.from({ length: whole.contacts }, (_, index) => all.make(index))
  const companiesWithOthers = all.companies.employers.map((_, index) => all.makeCompany(index))
  return {
    people,
    employers: companiesWithOthers.map(({ company }) => company),
    companyNotes: companiesWithOthers.flatMap((one) => one.notes),
    tasks: [...people, ...companiesWithOthers].flatMap((one) => one.tasks),
  }
}

const usual = make({})
const contactsOf = ({ people }: ReturnType<typeof make>): GeneratedRecord[] => people.map(({ contact }) => contact)

/** The body with which a caller can create the record. A name that follows from its parts is left out. */
function sendable(resource: Resource, { values }: GeneratedRecord): JsonObject {
  const follows = values.name === [values.firstName, values.lastName].filter(Boolean).join(' ')
  const names = Object.keys(values).filter((name) => resource.fields[name]?.writable && !(name === 'name' && follows))
  return Object.fromEntries(names.flatMap((name) => (values[name] === null ? [] : [[name, values[name] ?? null]])))
}

/** Expects the record and the hidden columns that the API would store. */
function assertMatchesApi(resource: Resource, record: GeneratedRecord): void {
  const body = sendable(resource, record)
  const read = parseBody(bodyShape(resource, 'create'), body)
  expect(read).toEqual(body)
  const whole = Object.fromEntries(
    Object.entries(resource.fields)
      .filter(([, field]) => field.writable && !field.list)
      .map(([name, field]) => [name, read[name] ?? field.initial ?? null]),
  )
  const prepared = resource.prepare?.(whole, undefined) ?? { values: whole }
  expect(prepared.errors ?? []).toEqual([])
  const stored = Object.keys(whole).map((name) => [name, record.values[name] ?? whole[name] ?? null])
  expect(prepared.values).toEqual(Object.fromEntries(stored))
  const hidden = Object.entries(prepared.hidden ?? {}).filter(([name]) => name in resource.hidden)
  expect(Object.fromEntries(hidden)).toEqual(record.hidden)
}

test('each record is what the API would create from the same values', () => {
  for (const { contact, jobs, notes: texts } of usual.people) {
    assertMatchesApi(contacts, contact)
    for (const job of jobs) assertMatchesApi(employments, job)
    for (const text of texts) expect(parseBody(bodyShape(notes, 'create'), { body: text.values.body })).toBeTruthy()
  }
  for (const employer of usual.employers) assertMatchesApi(companies, employer)
  for (const { values } of usual.companyNotes)
    expect(parseBody(bodyShape(notes, 'create'), { body: values.body })).toBeTruthy()
  for (const task of usual.tasks) assertMatchesApi(tasks, task)
  expect(usual.people.flatMap(({ jobs }) => jobs).length).toBeGreaterThan(1000)
  expect(usual.people.flatMap(({ notes: texts }) => texts).length).toBeGreaterThan(200)
})

test('the same seed creates the same people in any organization; another seed creates others', () => {
  const comparable = (generated: ReturnType<typeof make>) =>
    contactsOf(generated).map(({ values: { name, email, phone, tags, createdAt, customProperties } }) =>
      JSON.stringify([name, email, phone, tags, createdAt, customProperties]),
    )
  const otherOrganization = make({ organizationId: 'f'.repeat(32) })
  expect(comparable(otherOrganization)).toEqual(comparable(usual))
  expect(otherOrganization.people[0]?.contact.values.id).not.toBe(usual.people[0]?.contact.values.id)
  const other = new Set(comparable(make({ seed: 2 })))
  expect(comparable(usual).filter((one) => other.has(one))).toEqual([])
})

test('the default seed begins with the people and companies of the data file, and varies them afterwards', () => {
  const { companies: writtenCompanies, people } = demoData
  const namesOf = (records: readonly { values: JsonObject }[]) => records.map(({ values: { name } }) => name ?? null)
  const all = namesOf(contactsOf(usual))
  expect(people.length).toBeGreaterThan(200)
  expect(all.slice(0, people.length)).toEqual(namesOf(people))
  expect(namesOf(usual.employers).slice(0, writtenCompanies.length)).toEqual(namesOf(writtenCompanies))
  const later = all.slice(people.length).filter((name) => name !== null)
  expect(new Set(later).size).toBeGreaterThan(0.9 * later.length)
  // The same record for any number of contacts.
  const { values } = make({ contacts: 1 }).people[0]?.contact ?? { values: {} }
  expect(values).toMatchObject({ name: people[0]?.values.name, phone: people[0]?.values.phone })
})

test('an address is unique in its team, and each address has one person', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 1500 }), (number, count) => {
      const { people, employers } = make({ seed: number, contacts: count })
      const keys = people.flatMap(({ contact: { hidden, values } }) =>
        hidden.email_key ? [`${hidden.email_key} ${String(values.teamId)}`] : [],
      )
      expect(new Set(keys).size).toBe(keys.length)
      const roots = people.flatMap(({ root }) => root ?? [])
      const rootOf = new Map(roots.map(({ id, emailKey }) => [`rcn_${id}`, emailKey]))
      expect(rootOf.size).toBe(roots.length)
      for (const { contact } of people) {
        expect(rootOf.get(String(contact.values.rootContactId))).toBe(contact.hidden.email_key)
      }
      const addresses = roots.flatMap(({ emailKey }) => emailKey ?? [])
      expect(new Set(addresses).size).toBe(addresses.length)
      const domains = employers.flatMap(({ hidden }) => hidden.domain_key ?? [])
      expect(new Set(domains).size).toBe(domains.length)
      const known = new Set(employers.map(({ values }) => values.id))
      for (const { contact } of people) {
        const { companyId } = contact.values
        if (companyId !== null) expect(known.has(companyId ?? '')).toBe(true)
      }
    }),
    { seed, numRuns: 4 * lawTimes },
  )
})

test('every address, domain and link uses a reserved domain', () => {
  const values = [...contactsOf(usual), ...usual.employers].flatMap((record) =>
    ['email', 'domain', 'website', 'avatar'].flatMap((name) => record.values[name] ?? []),
  )
  expect(values.length).toBeGreaterThan(4000)
  const reserved = /^(?:https:\/\/|[^@]+@)?(?:[^@/]+\.)?[^@/.]+\.example(?:\/.*)?$/
  expect(values.filter((value) => !reserved.test(String(value)))).toEqual([])
})

test('all dates lie in the two years before the day, in the order of the ids', () => {
  const begin = day - 730 * 24 * 3_600_000
  const records = [...contactsOf(usual), ...usual.people.flatMap(({ notes: texts }) => texts), ...usual.employers]
  for (const { values, revision } of records) {
    const { createdAt, updatedAt, lastActivityAt } = values
    const [created, changed] = [createdAt, updatedAt].map((text) => Date.parse(String(text)))
    expect(created).toBeGreaterThanOrEqual(begin)
    expect(changed).toBeGreaterThanOrEqual(created ?? Infinity)
    expect(changed).toBeLessThan(day)
    if (revision === 1) expect(changed).toBe(created)
    if (typeof lastActivityAt === 'string') {
      expect(Date.parse(lastActivityAt)).toBeLessThan(day)
      expect(Date.parse(lastActivityAt)).toBeGreaterThanOrEqual(created ?? Infinity)
    }
    const uuid = String(values.id).slice(4)
    expect(uuid).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    expect(Number.parseInt(uuid.slice(0, 12), 16)).toBe(created)
  }
})

test('the last note or task of a record is its last activity, and no two are of the same moment', () => {
  const active = new Map<unknown, unknown>(
    [...contactsOf(usual), ...usual.employers].map(({ values }) => [values.id, values.lastActivityAt]),
  )
  const notes = [...usual.people.flatMap((person) => person.notes), ...usual.companyNotes]
  const moments = new Map<unknown, unknown[]>()
  for (const { values } of [...notes, ...usual.tasks]) {
    const id = values.contactId ?? values.companyId
    moments.set(id, [...(moments.get(id) ?? []), values.doneAt ?? values.createdAt])
  }
  expect(moments.size).toBeGreaterThan(500)
  for (const [id, times] of moments) {
    expect(times.toSorted().at(-1)).toBe(active.get(id))
    expect(new Set(times).size).toBe(times.length)
  }
})

test('tasks are open, overdue or done, on contacts and companies', () => {
  const kinds = { open: 0, overdue: 0, done: 0, contactId: 0, companyId: 0 }
  for (const { values } of usual.tasks) {
    const { contactId, deadline, done } = values
    const isLate = typeof deadline === 'string' && Date.parse(deadline) < day
    kinds[done === true ? 'done' : isLate ? 'overdue' : 'open']++
    kinds[contactId === undefined ? 'companyId' : 'contactId']++
  }
  for (const [kind, count] of Object.entries(kinds)) expect(count, kind).toBeGreaterThan(5)
})

test('every field has a value in some records and none in others', () => {
  const all = contactsOf(usual).map(({ values }) => values)
  const share = (has: (values: JsonObject) => boolean) => all.filter(has).length / all.length
  const always = new Set(['id', 'createdAt', 'updatedAt', 'teamId', 'rootContactId', 'status', 'tags', 'emailOptOut'])
  const lists = Object.entries(contacts.fields).flatMap(([name, field]: [string, Field]) => (field.list ? [name] : []))
  for (const name of Object.keys(all[0] ?? {})) {
    // The data have one address and one number of a person.
    if (always.has(name) || lists.includes(name)) continue
    const filled = share((values) => !['null', '[]', '{}', 'false'].includes(JSON.stringify(values[name] ?? null)))
    expect(filled, name).toBeGreaterThan(0)
    expect(filled, name).toBeLessThan(1)
  }
  expect(share(({ lastName, firstName }) => lastName === null && firstName !== null)).toBeGreaterThan(0.01)
  expect(share(({ name }) => /['’]/.test(String(name)))).toBeGreaterThan(0.01)
  expect(share(({ lastName }) => /\S[ -]\S/.test(String(lastName)))).toBeGreaterThan(0.05)
  expect(share(({ email }) => /[^ -~]/.test(String(email ?? '')))).toBeGreaterThan(0)
  const sizes = new Map<unknown, number>()
  for (const { companyId } of all) sizes.set(companyId, (sizes.get(companyId) ?? 0) + 1)
  sizes.delete(null)
  const sorted = [...sizes.values()].sort((left, right) => right - left)
  expect(sorted[0]).toBeGreaterThan(30)
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(20)
})

test('each language has enough distinct names, and each place has plausible coordinates, phone numbers and time zone', () => {
  const places = makeTowns()
  for (const { language, zone, country, latitude, longitude, phone, digits, location } of places) {
    for (const names of [
      language.women.firstNames,
      language.women.lastNames,
      language.men.firstNames,
      language.men.lastNames,
    ]) {
      expect(new Set(names.map(({ text }) => text)).size, language.code).toBeGreaterThanOrEqual(10)
      for (const { latin, text } of names) expect(latin, text).toMatch(/^[a-z]+$/)
    }
    for (const names of [language.companies, language.subjects])
      expect(
        names.filter((name) => !/\p{L}.*\p{L}/u.test(name)),
        language.code,
      ).toEqual([])
    expect(language.companies).toHaveLength(40)
    expect(Math.abs(hoursOf(zone) - longitude / 15), zone).toBeLessThan(2.5)
    expect(country).toMatch(/^[A-Z]{2}$/)
    expect(Math.abs(latitude)).toBeLessThan(90)
    const number = `${phone}${'0'.repeat(digits)}`
    expect(phoneNumber(number)).toBe(number)
    expect(timeZoneName(zone)).toBe(zone)
    expect(location).toMatch(/, /)
  }
  const texts = places.flatMap(({ language }) => language.women.firstNames.map(({ text }) => text)).join(' ')
  for (const script of scripts) expect(texts, script).toMatch(new RegExp(`\\p{Script=${script}}`, 'u'))
})

const scripts = ['Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Han', 'Hiragana', 'Hangul', 'Devanagari', 'Thai']

/** Offset of a time zone from UTC in January, in hours. */
function hoursOf(zone: string): number {
  const there = new Date(day + 60 * 24 * 3_600_000).toLocaleString('sv', { timeZone: zone })
  return (Date.parse(`${there.replace(' ', 'T')}Z`) - day) / 3_600_000 - 60 * 24
}

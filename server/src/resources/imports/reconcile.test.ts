import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnyRow, Resource } from '../../platform/resource/define.ts'
import { newId, showId } from '../../platform/resource/ids.ts'
import { seed } from '../../../test/seed.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { employments } from '../employments/resource.ts'
import { Draft } from './draft.ts'
import { jobKey, type Jobs } from './jobs.ts'
import { readPush } from './payload.ts'
import { type Known, type LeadRow, type Plan, reconcile } from './reconcile.ts'

/** What the database would hold, by uuid. */
interface World {
  contacts: Map<string, AnyRow>
  companies: Map<string, AnyRow>
  employments: Map<string, { contactId: string; record: AnyRow }>
  notes: Set<string>
  edits: Map<string, ReadonlySet<string>>
}

const newWorld = (): World => ({
  contacts: new Map(),
  companies: new Map(),
  employments: new Map(),
  notes: new Set(),
  edits: new Map(),
})

const teamId = showId('tea', newId())

function rowOf(payload: AnyRow, settings: Partial<LeadRow> = {}): LeadRow {
  const read = readPush(payload, {})
  if ('faults' in read) throw new Error(`${JSON.stringify(payload)}: ${JSON.stringify(read.faults)}`)
  return { id: newId(), lead: read.lead, teamId, tags: [], mergePolicy: 'fill', ...settings }
}

function knownOf(world: World): Known {
  const drafts = (resource: Resource, records: Map<string, AnyRow>) =>
    [...records].map(
      ([id, state]) => new Draft(resource, id, { state: { ...state }, edits: world.edits.get(id) ?? new Set() }),
    )
  const jobs: Jobs = new Map()
  for (const [id, { contactId, record }] of world.employments) {
    const known = jobs.get(contactId) ?? new Map<string, Draft | 'deleted'>()
    jobs.set(contactId, known.set(jobKey(record), new Draft(employments, id, { state: { ...record } })))
  }
  return {
    contacts: drafts(contacts, world.contacts),
    companies: drafts(companies, world.companies),
    jobs,
    notes: new Set(world.notes),
  }
}

/** Writes the plan as the stores would. */
function apply(world: World, plan: Plan): void {
  const initial = (resource: Resource) => new Draft(resource, '', { columns: {} }).state
  const set = (resource: Resource, records: Map<string, AnyRow>, changes: Plan['contacts']) => {
    for (const change of changes) {
      if (change.id === undefined) throw new Error('a planned change names its record')
      expect(records.has(change.id)).toBe(change.kind === 'update')
      records.set(change.id, { ...(records.get(change.id) ?? initial(resource)), ...change.values })
    }
  }
  set(companies, world.companies, plan.companies)
  set(contacts, world.contacts, plan.contacts)
  for (const change of plan.employments) {
    const before = world.employments.get(change.id ?? '')
    const columns = change.kind === 'create' ? change.columns : undefined
    const contactId = before?.contactId ?? String(columns?.contact_id)
    world.employments.set(change.id ?? '', {
      contactId,
      record: { ...(before?.record ?? initial(employments)), ...change.values },
    })
  }
  for (const change of plan.notes) {
    const columns = change.kind === 'create' ? change.columns : undefined
    world.notes.add(`${String(columns?.contact_id)} ${String(change.values.body)}`)
  }
}

function run(world: World, ...rows: LeadRow[]): Plan['outcomes'] {
  const plan = reconcile(rows, knownOf(world))
  apply(world, plan)
  return plan.outcomes
}

/** The world without its ids: two that say the same are equal. */
function canonical({ contacts: people, companies: employers, employments: jobs, notes }: World) {
  const company = (id: unknown) => [...employers].find(([uuid]) => showId('com', uuid) === id)?.[1] ?? null
  const person = (id: string) => JSON.stringify(shown(people.get(id) ?? {}))
  const shown = (record: AnyRow) =>
    Object.entries({ ...record, companyId: company(record.companyId) })
      .filter(([, value]) => value !== null)
      .sort(([left], [right]) => (left < right ? -1 : 1))
  const sorted = (items: unknown[]) => items.map((item) => JSON.stringify(item)).sort()
  return {
    people: sorted([...people.values()].map(shown)),
    employers: sorted([...employers.values()].map(shown)),
    jobs: sorted([...jobs.values()].map(({ contactId, record }) => [person(contactId), shown(record)])),
    notes: sorted([...notes].map((note) => [person(note.slice(0, 36)), note.slice(37)])),
  }
}

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const few = (...values: string[]) => fc.constantFrom(...values)

/** Few values, so that people and companies meet often and in every way. */
const payloads: fc.Arbitrary<AnyRow> = fc
  .record({
    contact: fc.record({
      email: maybe(few('ada@a.example', 'Ada@A.example', 'bob@b.example', 'cy@c.example')),
      externalIdCrm: maybe(few('1', '2')),
      externalIdBilling: maybe(few('1', '2')),
      name: maybe(few('Ada Lovelace', 'Bob', 'Ada Byron King')),
      nickname: maybe(few('ada', 'bob')),
      githubHandle: maybe(few('ada', '@bob')),
      note: maybe(few('met at the fair', 'call back')),
    }),
    employment: maybe(
      fc.record({
        title: maybe(few('Countess', 'Analyst')),
        history: maybe(
          fc.array(
            fc.record({
              organization: few('Acme', 'acme', 'Babbage'),
              title: maybe(few('Analyst')),
              start: maybe(few('2020-01', '2021-05')),
              end: maybe(few('2020-06', '2022-01')),
              current: maybe(fc.boolean()),
            }),
            { maxLength: 3 },
          ),
        ),
      }),
    ),
    company: maybe(
      fc.record({
        name: maybe(few('Acme', 'Acme Ltd', 'Babbage')),
        domain: maybe(few('acme.example', 'www.acme.example', 'babbage.example')),
        externalIdCrm: maybe(few('c1', 'c2')),
        employeesCount: maybe(fc.constantFrom(1, 2)),
        stack: maybe(fc.constantFrom(['a'], ['b'])),
        tags: maybe(fc.constantFrom(['x'], ['y'])),
      }),
    ),
  })
  .map((payload) => JSON.parse(JSON.stringify(payload)) as AnyRow)
  .filter((payload) => 'lead' in readPush(payload, {}))

const rows = fc
  .record({
    payload: payloads,
    mergePolicy: fc.constantFrom('fill' as const, 'overwrite' as const),
    tag: few('t1', 't2'),
  })
  .map(({ payload, mergePolicy, tag }) => rowOf(payload, { mergePolicy, tags: [tag] }))

test('a batch comes to the same as its rows one by one, whatever they are', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), fc.array(rows, { maxLength: 12 }), (first, batch) => {
      const [whole, single] = [newWorld(), newWorld()]
      for (const row of first) {
        run(whole, row)
        run(single, row)
      }
      const together = run(whole, ...batch).map(({ status }) => status)
      const apart = batch.flatMap((row) => run(single, row)).map(({ status }) => status)
      expect(together).toEqual(apart)
      expect(canonical(whole)).toEqual(canonical(single))
    }),
    { numRuns: 150, seed },
  )
})

test('a row that was worked on and comes again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), rows, (first, row) => {
      const world = newWorld()
      run(world, ...first)
      const [outcome] = run(world, row)
      const before = canonical(world)
      const [again] = run(world, { ...row, id: newId() })
      expect(canonical(world)).toEqual(before)
      expect(again?.changes).toEqual([])
      if (outcome?.status === 'PROCESSED' || outcome?.status === 'DUPLICATE') expect(again?.status).toBe('DUPLICATE')
      else expect(again?.status).toBe(outcome?.status)
    }),
    { numRuns: 150, seed },
  )
})

test('no two contacts of a team share an address or an external id, no two companies a domain', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 16 }), (batch) => {
      const world = newWorld()
      run(world, ...batch)
      const keys = (records: Map<string, AnyRow>, names: string[]) =>
        [...records.values()].flatMap((record) => [
          ...names.flatMap((name) => (record[name] ? [`${name} ${String(record[name]).toLowerCase()}`] : [])),
          ...Object.entries(record.externalIds ?? {}).map(([provider, id]) => `${provider} ${String(id)}`),
        ])
      for (const found of [keys(world.contacts, ['email']), keys(world.companies, [])]) {
        expect(found).toEqual([...new Set(found)])
      }
    }),
    { numRuns: 150, seed },
  )
})

const ada = { contact: { email: 'ada@a.example', name: 'Ada Lovelace' } }

test('a field that holds something stays, or is replaced where the import says so, but never by nothing', () => {
  const world = newWorld()
  run(world, rowOf({ ...ada, employment: { title: 'Countess' } }))
  run(
    world,
    rowOf({ contact: { email: 'ada@a.example', name: null, bio: 'Wrote notes' }, employment: { title: 'Analyst' } }),
  )
  const [person] = [...world.contacts.values()]
  expect(person).toMatchObject({ name: 'Ada Lovelace', bio: 'Wrote notes', employmentTitle: 'Countess' })
  const [outcome] = run(world, rowOf({ ...ada, employment: { title: 'Analyst' } }, { mergePolicy: 'overwrite' }))
  expect([...world.contacts.values()][0]).toMatchObject({ employmentTitle: 'Analyst', bio: 'Wrote notes' })
  expect(outcome?.changes).toMatchObject([
    {
      object: 'contact',
      action: 'updated',
      before: { employmentTitle: 'Countess' },
      after: { employmentTitle: 'Analyst' },
    },
  ])
})

test('what a person has changed or cleared is neither overwritten nor filled', () => {
  const world = newWorld()
  run(world, rowOf({ ...ada, employment: { title: 'Countess' } }))
  const [[id, record] = ['', {}]] = [...world.contacts]
  world.contacts.set(id, { ...record, lastName: 'King', name: 'Ada King', employmentTitle: null })
  world.edits.set(id, new Set(['lastName', 'employmentTitle']))
  for (const mergePolicy of ['fill', 'overwrite'] as const) {
    const [outcome] = run(world, rowOf({ ...ada, employment: { title: 'Countess' } }, { mergePolicy }))
    expect(outcome?.status).toBe('DUPLICATE')
    expect(world.contacts.get(id)).toMatchObject({ name: 'Ada King', employmentTitle: null })
  }
})

test('keys of different contacts are a conflict that changes nothing and names them', () => {
  const world = newWorld()
  run(world, rowOf(ada), rowOf({ contact: { email: 'bob@b.example', externalIdCrm: '1' } }))
  const before = canonical(world)
  const payload = { contact: { email: 'ada@a.example', externalIdCrm: '1' }, company: { name: 'Acme' } }
  const [outcome] = run(world, rowOf(payload))
  expect(outcome).toMatchObject({
    status: 'CONFLICT',
    contactId: null,
    changes: [],
    errors: [{ code: 'ambiguous_contact' }],
  })
  for (const id of world.contacts.keys()) expect(outcome?.errors[0]?.message).toContain(showId('con', id))
  expect(canonical(world)).toEqual(before)
})

test('a company is found by external id or domain before its name, and never by a name that several have', () => {
  const world = newWorld()
  const push = (email: string, company: AnyRow) => run(world, rowOf({ contact: { email }, company }))[0]
  const first = push('a@a.example', { name: 'Acme', domain: 'acme.example' })
  expect(push('b@a.example', { name: 'Acme' })?.companyId).toBe(first?.companyId)
  const other = push('c@a.example', { name: 'Acme', domain: 'acme.test' })
  expect(other?.companyId).not.toBe(first?.companyId)
  expect(push('d@a.example', { name: 'Acme' })).toMatchObject({
    status: 'CONFLICT',
    errors: [{ code: 'ambiguous_company', path: 'company' }],
  })
  expect(push('e@a.example', { name: 'Renamed', domain: 'mail.acme.test' })?.companyId).toBe(other?.companyId)
  expect(world.contacts.size).toBe(4)
})

test('a contact without an address or a name is called by what it has, and told so', () => {
  const world = newWorld()
  const [byHandle, byId] = run(
    world,
    rowOf({ contact: { linkedinHandle: 'ada', externalIdCrm: '1' } }),
    rowOf({ contact: { externalIdCrm: '2' } }),
  )
  expect([...world.contacts.values()].map(({ name }) => name)).toEqual(['ada', '2'])
  for (const outcome of [byHandle, byId]) expect(outcome?.warnings).toMatchObject([{ code: 'made_up_name' }])
})

test('tags and external ids that a record has no room for are left out and told', () => {
  const world = newWorld()
  const tags = (from: number) => Array.from({ length: 60 }, (_, index) => `tag ${from + index}`)
  run(world, rowOf(ada, { tags: tags(0) }))
  const [outcome] = run(world, rowOf({ ...ada, contact: { ...ada.contact, bio: 'Wrote notes' } }, { tags: tags(60) }))
  expect(outcome).toMatchObject({ status: 'PROCESSED', warnings: [{ code: 'unusable_value', path: 'contact.tags' }] })
  expect([...world.contacts.values()]).toMatchObject([{ tags: tags(0), bio: 'Wrote notes' }])
})

test('a name that was made up is one line', () => {
  const world = newWorld()
  run(world, rowOf({ contact: { externalIdCrm: 'first\nsecond' }, company: { domain: `${'a.'.repeat(110)}example` } }))
  expect([...world.contacts.values()]).toMatchObject([{ name: 'first second' }])
  expect([...world.companies.values()].map(({ name }) => String(name).length)).toEqual([200])
})

test('a company that nothing names is left out, and the lead is kept', () => {
  const world = newWorld()
  const [outcome] = run(world, rowOf({ ...ada, company: { employeesCount: 3 } }))
  expect(outcome).toMatchObject({ status: 'PARTIAL', companyId: null, errors: [{ code: 'company_without_name' }] })
  expect(world.contacts.size).toBe(1)
  expect(world.companies.size).toBe(0)
})

test('a job that was held is ended by the push that says when, and one that was deleted stays away', () => {
  const world = newWorld()
  const push = (job: AnyRow) => rowOf({ ...ada, employment: { history: [{ organization: 'Acme', ...job }] } })
  run(world, push({ start: '2020-01', current: true }))
  const [ended] = run(world, push({ start: '2020-01', end: '2021-01' }))
  expect(ended?.changes).toMatchObject([
    { object: 'employment', action: 'updated', after: { end: '2021-01', current: false } },
  ])
  expect([...world.employments.values()].map(({ record }) => record)).toMatchObject([
    { end: '2021-01', current: false },
  ])
  const known = knownOf(world)
  for (const jobs of known.jobs.values()) for (const key of jobs.keys()) jobs.set(key, 'deleted')
  expect(reconcile([push({ start: '2020-01' })], known)).toMatchObject({
    employments: [],
    outcomes: [{ status: 'DUPLICATE' }],
  })
})

test('a note is kept once, whoever pushes the same words again', () => {
  const world = newWorld()
  const push = (note: string) => rowOf({ contact: { ...ada.contact, note } })
  const [first, again, other] = run(world, push('met at the fair'), push('met at the fair'), push('call back'))
  expect([first, again, other].map((outcome) => outcome?.status)).toEqual(['PROCESSED', 'DUPLICATE', 'PROCESSED'])
  expect(world.notes.size).toBe(2)
})

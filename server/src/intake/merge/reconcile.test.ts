import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  withoutIds,
  preloadedRecords,
  noRecords,
  notStoredOf,
  leadRow,
  reconcileAndApply,
} from '../../../test/lead-model.ts'
import { seed } from '../../../test/seed.ts'
import { digestOf, Edits } from '../../platform/records/write/edits.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { jobKey } from '../../crm/employments/resource.ts'
import { parsePush } from '../payload/payload.ts'
import { reconcile } from './reconcile.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const few = (...values: string[]) => fc.constantFrom(...values)

/** Few distinct values, so that people and companies often match in every way. */
const payloads: fc.Arbitrary<JsonObject> = fc
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
  .map((payload) => JSON.parse(JSON.stringify(payload)) as JsonObject)
  .filter((payload) => 'lead' in parsePush(payload, {}))

const rows = fc
  .record({
    payload: payloads,
    mergePolicy: fc.constantFrom('fill' as const, 'overwrite' as const),
    tag: few('t1', 't2'),
  })
  .map(({ payload, mergePolicy, tag }) => leadRow(payload, { mergePolicy, tags: [tag] }))

test('a batch has the same result as its rows one by one', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), fc.array(rows, { maxLength: 12 }), (first, batch) => {
      const [whole, single] = [noRecords(), noRecords()]
      for (const row of first) {
        reconcileAndApply(whole, row)
        reconcileAndApply(single, row)
      }
      const together = reconcileAndApply(whole, ...batch).map(({ status }) => status)
      const apart = batch.flatMap((row) => reconcileAndApply(single, row)).map(({ status }) => status)
      expect(together).toEqual(apart)
      expect(withoutIds(whole)).toEqual(withoutIds(single))
    }),
    { numRuns: 150, seed },
  )
})

test('processing a row again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), rows, (first, row) => {
      const fixture = noRecords()
      reconcileAndApply(fixture, ...first)
      const [outcome] = reconcileAndApply(fixture, row)
      const before = withoutIds(fixture)
      const [again] = reconcileAndApply(fixture, { ...row, id: newId() })
      expect(withoutIds(fixture)).toEqual(before)
      expect(again?.changes).toEqual([])
      if (!again || again.status === 'CONFLICT') {
        expect(again?.status).toBe(outcome?.status)
        return
      }
      const missing = notStoredOf(fixture, row.lead, again)
      expect(again.warnings.map(({ path }) => path).sort()).toEqual(missing)
      expect(again.status).toBe(again.errors.length > 0 ? 'PARTIAL' : missing.length > 0 ? 'PROCESSED' : 'DUPLICATE')
    }),
    { numRuns: 150, seed },
  )
})

test('email addresses, external ids and domains stay unique', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 16 }), (batch) => {
      const fixture = noRecords()
      reconcileAndApply(fixture, ...batch)
      const keys = (records: Map<string, JsonObject>, names: string[]) =>
        [...records.values()].flatMap((record) => [
          ...names.flatMap((name) => (record[name] ? [`${name} ${String(record[name]).toLowerCase()}`] : [])),
          ...Object.entries(record.externalIds ?? {}).map(([provider, id]) => `${provider} ${String(id)}`),
        ])
      for (const found of [keys(fixture.contacts, ['email']), keys(fixture.companies, [])]) {
        expect(found).toEqual([...new Set(found)])
      }
    }),
    { numRuns: 150, seed },
  )
})

const ada = { contact: { email: 'ada@a.example', name: 'Ada Lovelace' } }

test('an existing value is kept or, with overwrite, replaced, but never by null', () => {
  const fixture = noRecords()
  reconcileAndApply(fixture, leadRow({ ...ada, employment: { title: 'Countess' } }))
  reconcileAndApply(
    fixture,
    leadRow({ contact: { email: 'ada@a.example', name: null, bio: 'Wrote notes' }, employment: { title: 'Analyst' } }),
  )
  const [person] = [...fixture.contacts.values()]
  expect(person).toMatchObject({ name: 'Ada Lovelace', bio: 'Wrote notes', employmentTitle: 'Countess' })
  const [outcome] = reconcileAndApply(
    fixture,
    leadRow({ ...ada, employment: { title: 'Analyst' } }, { mergePolicy: 'overwrite' }),
  )
  expect([...fixture.contacts.values()][0]).toMatchObject({ employmentTitle: 'Analyst', bio: 'Wrote notes' })
  expect(outcome?.changes).toMatchObject([
    {
      object: 'contact',
      action: 'updated',
      before: { employmentTitle: 'Countess' },
      after: { employmentTitle: 'Analyst' },
    },
  ])
})

test('a field that a person changed or cleared is neither overwritten nor filled', () => {
  const fixture = noRecords()
  reconcileAndApply(fixture, leadRow({ ...ada, employment: { title: 'Countess' } }))
  const [[id, record] = ['', {}]] = [...fixture.contacts]
  fixture.contacts.set(id, { ...record, lastName: 'King', name: 'Ada King', employmentTitle: null })
  fixture.edits.set(id, new Edits(['lastName', 'employmentTitle']))
  for (const mergePolicy of ['fill', 'overwrite'] as const) {
    const [outcome] = reconcileAndApply(
      fixture,
      leadRow({ ...ada, employment: { title: 'Countess' } }, { mergePolicy }),
    )
    expect(outcome).toMatchObject({
      status: 'PROCESSED',
      changes: [],
      warnings: [
        { code: 'edit_kept', path: 'contact.name' },
        { code: 'edit_kept', path: 'employment.title' },
      ],
    })
    expect(fixture.contacts.get(id)).toMatchObject({ name: 'Ada King', employmentTitle: null })
  }
})

test('keys of different contacts are a conflict that names them and changes nothing', () => {
  const fixture = noRecords()
  reconcileAndApply(fixture, leadRow(ada), leadRow({ contact: { email: 'bob@b.example', externalIdCrm: '1' } }))
  const before = withoutIds(fixture)
  const payload = { contact: { email: 'ada@a.example', externalIdCrm: '1' }, company: { name: 'Acme' } }
  const [outcome] = reconcileAndApply(fixture, leadRow(payload))
  expect(outcome).toMatchObject({
    status: 'CONFLICT',
    contactId: null,
    changes: [],
    errors: [{ code: 'ambiguous_contact' }],
  })
  for (const id of fixture.contacts.keys()) expect(outcome?.errors[0]?.message).toContain(encodeId('con', id))
  expect(withoutIds(fixture)).toEqual(before)
})

test('a company is matched by external id or domain before its name, and never by an ambiguous name', () => {
  const fixture = noRecords()
  const push = (email: string, company: JsonObject) =>
    reconcileAndApply(fixture, leadRow({ contact: { email }, company }))[0]
  const first = push('a@a.example', { name: 'Acme', domain: 'acme.example' })
  expect(push('b@a.example', { name: 'Acme' })?.companyId).toBe(first?.companyId)
  const other = push('c@a.example', { name: 'Acme', domain: 'acme.test' })
  expect(other?.companyId).not.toBe(first?.companyId)
  expect(push('d@a.example', { name: 'Acme' })).toMatchObject({
    status: 'CONFLICT',
    errors: [{ code: 'ambiguous_company', path: 'company' }],
  })
  expect(push('e@a.example', { name: 'Renamed', domain: 'mail.acme.test' })?.companyId).toBe(other?.companyId)
  expect(fixture.contacts.size).toBe(4)
})

test('a contact without an address or a name gets another value as its name, with a warning', () => {
  const fixture = noRecords()
  const [byHandle, byId] = reconcileAndApply(
    fixture,
    leadRow({ contact: { linkedinHandle: 'ada', externalIdCrm: '1' } }),
    leadRow({ contact: { externalIdCrm: '2' } }),
  )
  expect([...fixture.contacts.values()].map(({ name }) => name)).toEqual(['ada', '2'])
  for (const outcome of [byHandle, byId]) expect(outcome?.warnings).toMatchObject([{ code: 'made_up_name' }])
})

test('tags and external ids beyond the limit are left out with a warning', () => {
  const fixture = noRecords()
  const tags = (from: number) => Array.from({ length: 60 }, (_, index) => `tag ${from + index}`)
  reconcileAndApply(fixture, leadRow(ada, { tags: tags(0) }))
  const [outcome] = reconcileAndApply(
    fixture,
    leadRow({ ...ada, contact: { ...ada.contact, bio: 'Wrote notes' } }, { tags: tags(60) }),
  )
  expect(outcome).toMatchObject({ status: 'PROCESSED', warnings: [{ code: 'unusable_value', path: 'contact.tags' }] })
  expect([...fixture.contacts.values()]).toMatchObject([{ tags: tags(0), bio: 'Wrote notes' }])
})

test('a substituted name is a single line', () => {
  const fixture = noRecords()
  reconcileAndApply(
    fixture,
    leadRow({ contact: { externalIdCrm: 'first\nsecond' }, company: { domain: `${'a.'.repeat(110)}example` } }),
  )
  expect([...fixture.contacts.values()]).toMatchObject([{ name: 'first second' }])
  expect([...fixture.companies.values()].map(({ name }) => String(name).length)).toEqual([200])
})

test('a company without a name is left out, and the rest of the lead is stored', () => {
  const fixture = noRecords()
  const [outcome] = reconcileAndApply(fixture, leadRow({ ...ada, company: { employeesCount: 3 } }))
  expect(outcome).toMatchObject({ status: 'PARTIAL', companyId: null, errors: [{ code: 'company_without_name' }] })
  expect(fixture.contacts.size).toBe(1)
  expect(fixture.companies.size).toBe(0)
})

test('a push can end a current job and does not add a deleted job again', () => {
  const fixture = noRecords()
  const push = (job: JsonObject) => leadRow({ ...ada, employment: { history: [{ organization: 'Acme', ...job }] } })
  reconcileAndApply(fixture, push({ start: '2020-01', current: true }))
  const [ended] = reconcileAndApply(fixture, push({ start: '2020-01', end: '2021-01' }))
  expect(ended?.changes).toMatchObject([
    { object: 'employment', action: 'updated', after: { end: '2021-01', current: false } },
  ])
  expect([...fixture.employments.values()].map(({ record }) => record)).toMatchObject([
    { end: '2021-01', current: false },
  ])
  const [[id = ''] = []] = [...fixture.contacts]
  fixture.employments.clear()
  const key = jobKey({ organization: 'Acme', start: '2020-01' })
  fixture.edits.set(id, new Edits([], new Map([['employments', new Set([digestOf(key)])]])))
  expect(reconcile([push({ start: '2020-01' })], preloadedRecords(fixture))).toMatchObject({
    employments: [],
    outcomes: [{ status: 'PROCESSED', warnings: [{ code: 'edit_kept', path: 'employment.history.0' }] }],
  })
})

test('a note is stored once, however often the same text is pushed', () => {
  const fixture = noRecords()
  const push = (note: string) => leadRow({ contact: { ...ada.contact, note } })
  const [first, again, other] = reconcileAndApply(
    fixture,
    push('met at the fair'),
    push('met at the fair'),
    push('call back'),
  )
  expect([first, again, other].map((outcome) => outcome?.status)).toEqual(['PROCESSED', 'DUPLICATE', 'PROCESSED'])
  expect(fixture.notes.size).toBe(2)
})

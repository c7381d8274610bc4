import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { UsageError } from '../shared/command.ts'
import { copyText } from './copy.ts'
import { Counter, runTurn, type TurnMessage } from './counter.ts'
import { insertsOf, sharesOf } from './data.ts'
import { depthOf } from './depth.ts'
import { pack, repeatable, unpack } from './exchange.ts'
import { emailsForRound } from './leads.ts'
import { rotate } from './measure.ts'
import { absentFragment, firstNames, lastNames, Random, rareName } from './people.ts'
import { readSteps, type Step } from './plans.ts'
import { readQueries } from './read-queries.ts'
import { type TableRow, makeContact } from './records.ts'
import { readNames, rowNames, rowsWith } from './row-names.ts'
import type { Figures, Row, Start, TargetLine } from './report.ts'
import { targetsOf } from './targets.ts'

const owner = { organizationId: 'o', teamId: 't', number: 3 }

test('COPY text has no raw tabs or line breaks and decodes to the same text', () => {
  const plain: Record<string, string> = { t: '\t', n: '\n', r: '\r' }
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '\t', '\n', '\\', '\r\\t'), (text, more) => {
      const sent = copyText(`${text}${more}${text}`)
      expect(sent).not.toMatch(/[\t\n\r]/)
      const read = sent.replace(/\\(.)/g, (_, character: string) => plain[character] ?? character)
      expect(read).toBe(`${text}${more}${text}`)
    }),
  )
  expect([null, 4, true, ['a b', 'c"d'], { a: 'x\ny' }].map(copyText)).toEqual([
    '\\N',
    '4',
    'true',
    '{"a b","c\\\\"d"}',
    '{"a":"x\\\\ny"}',
  ])
})

test('generated people are the same each time and have unique addresses', () => {
  const make = () => {
    const random = new Random(5)
    return Array.from({ length: 2000 }, (_, index) => makeContact(random, owner, index, 10))
  }
  const people = make()
  expect(make()).toEqual(people)
  expect(new Set(people.map(({ email }) => email)).size).toBe(2000)
  expect(people.every(({ email }) => /^[a-z.\d-]+@[a-z.-]+$/.test(String(email)))).toBe(true)
  const rare = people.filter(({ last_name: name }) => !lastNames.includes(String(name))).length
  expect(rare / people.length).toBeGreaterThan(0.1)
  expect(rare / people.length).toBeLessThan(0.2)
})

test('no name contains an absent fragment, but names contain each of its trigrams', () => {
  const random = new Random(1)
  const names = [...firstNames, ...lastNames, ...Array.from({ length: 20_000 }, () => rareName(random))]
  const text = names.join(' ').toLowerCase()
  for (let count = 0; count < 200; count++) {
    const fragment = absentFragment(random)
    expect(text).not.toContain(fragment)
    const threes = Array.from({ length: fragment.length - 2 }, (_, index) => fragment.slice(index, index + 3))
    expect(threes.filter((three) => !text.includes(three))).toEqual([])
  }
})

test('one organization gets half of the contacts, and the others get the rest', () => {
  const measured = { organizationId: 'o', teamId: 't', userId: 'u' }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000_000 }), fc.integer({ min: 1, max: 50 }), (contacts, organizations) => {
      const shares = sharesOf(contacts, organizations, measured)
      expect(shares).toHaveLength(organizations)
      expect(shares.reduce((sum, share) => sum + share.contacts, 0)).toBe(contacts)
      expect(shares[0]?.contacts).toBe(organizations === 1 ? contacts : Math.ceil(contacts / 2))
      expect(new Set(shares.map(({ organizationId }) => organizationId)).size).toBe(organizations)
    }),
  )
})

test('the deep page is at 400,000 records, or at four fifths of the contacts', () => {
  expect([1_000_000, 500_000, 50_000, 3].map(depthOf)).toEqual([400_000, 400_000, 40_000, 2])
})

test('each read row sends different requests', () => {
  const many = (make: (index: number) => string) => Array.from({ length: 300 }, (_, index) => make(index))
  const sample = {
    ids: many((index) => String(index).padStart(32, '0')),
    emails: many((index) => `a${index}@b.example`),
    customerNumbers: many((index) => `K-${index}`),
    rareNames: many((index) => `Name${index}x`),
    names: many((index) => `Ada ${index}`),
    companies: [],
    contacts: 300,
    deals: many(String).map((id) => ({ id: id.padStart(32, '0'), stageId: id.padStart(32, '0') })),
    withHistory: many((index) => String(index).padStart(32, '0')),
  }
  const depth = { records: 200, ids: sample.ids, cursors: many((index) => `cur_${index}`) }
  const questions = readQueries(sample, depth)
  expect(questions.map(({ name }) => name)).toEqual(readNames)
  for (const { name, targets } of questions) {
    if (name !== rowNames.page) expect(new Set(targets).size).toBeGreaterThanOrEqual(10)
    expect(targets.every((target) => /^\/v5\/(contacts|deals)[^ ]*$/.test(target))).toBe(true)
  }
})

test('a repeated write gets a new number and new ids, the same in all its statements', () => {
  const id = '01a20071-c654-730a-8e8b-8cd613bdf78a'
  const recorded = [
    [{ text: 'begin', values: [] }],
    [
      { name: 'one', text: 'insert', values: [`[{"id":"${id}","email":"a-12345678@b"}]`, 7, null, ['a-12345678@b']] },
      { text: 'look', values: [id, 'other', true] },
    ],
  ]
  const [exchange = []] = unpack(JSON.parse(JSON.stringify(pack([recorded, recorded]))))
  expect(exchange).toEqual(recorded)
  const repeat = repeatable(exchange, { ids: [id], number: '12345678' })
  const [first, second] = [repeat('00000001'), repeat('00000002')]
  const newId = first[1]?.[1]?.values[0]
  expect(newId).toMatch(/^[\da-f-]{36}$/)
  expect([id, second[1]?.[1]?.values[0]]).not.toContain(newId)
  expect(first).toEqual([
    [{ text: 'begin', values: [] }],
    [
      {
        name: 'one',
        text: 'insert',
        values: [`[{"id":"${newId}","email":"a-00000001@b"}]`, 7, null, ['a-00000001@b']],
      },
      { text: 'look', values: [newId, 'other', true] },
    ],
  ])
})

test('only the executed steps of a plan count', () => {
  const step = (loops: number, more: Partial<Step>): Step => ({
    'Node Type': 'Index Scan',
    'Actual Loops': loops,
    ...more,
  })
  const scan = { 'Node Type': 'Seq Scan', 'Relation Name': 'contacts' }
  const tree = step(1, {
    Plans: [
      step(1, { 'Index Name': 'contacts_search' }),
      step(3, { Plans: [step(2, { 'Index Name': 'contacts_created' }), step(1, { 'Index Name': 'companies_pkey' })] }),
      step(0, { 'Index Name': 'contacts_tags' }),
      step(0, scan),
      step(1, { ...scan, 'Relation Name': 'companies' }),
    ],
  })
  expect(readSteps([tree, tree])).toEqual({ indexes: ['contacts_created', 'contacts_search'], sequential: false })
  expect(readSteps([step(1, { Plans: [step(1, scan)] })]).sequential).toBe(true)
})

const figures = (more: Partial<Figures>): Figures => {
  return { perSecond: 1, p50: 10, p99: 20, serviceCpu: 0.1, databaseCpu: 0.1, ...more }
}

const row = (name: string, connections: number | null, service: Partial<Figures>, ratio = 0.6): Row => {
  const [floor, driver] = [figures({}), figures({})]
  return { name, connections, service: figures(service), floor, driver, ratio, memory: [100, 200], databaseMemory: 300 }
}

const start = (seconds: number, service: number | null): Start => {
  return { rows: [], seconds, atStart: { service, database: null }, atEnd: { service: null, database: null } }
}

const outcomes = (lines: readonly TargetLine[]) =>
  lines.map(({ name, connections, reached }) => `${name} ${connections ?? ''} ${reached}`)

test('each measured figure is compared with its target', () => {
  expect(targetsOf({ rows: [], plans: [], interactions: [], starts: [] })).toEqual([])
  const rows = [
    row(rowNames.one, 1, {}, 0.1),
    row(rowNames.one, 16, {}, 0.8),
    row(rowNames.page, 1, { p50: 10 }),
    row(rowNames.deep, 1, { p50: 13.1 }),
    row(rowNames.rare, 1, { p50: 29.9 }),
    row(rowNames.rare, 16, { p50: 30 }),
    row(rowNames.pushed, 16, { perSecond: 9000 }),
    row(rowNames.pushed, 64, { perSecond: 2999 }),
    row(rowNames.processed, null, { perSecond: 1499 }),
    row(rowNames.processedOfTwo, null, { perSecond: 1500 }),
  ]
  const expected = ['contacts_search']
  const plans = [
    { name: rowNames.rare, expected, indexes: ['contacts_search'], sequential: false },
    { name: rowNames.query, expected, indexes: ['contacts_created'], sequential: false },
    { name: rowNames.absent, expected, indexes: ['contacts_search'], sequential: true },
  ]
  const lines = targetsOf({ rows, plans, interactions: [], starts: [start(1, 90), start(1.9, 120), start(3, 100)] })
  expect(outcomes(lines)).toEqual([
    'get one: ratio to the floor 16 true',
    'first page of 25: ratio to the floor 1 false',
    'push: per second 64 false',
    'rows processed: per second  false',
    'rows processed, of two organizations: per second  true',
    'deep page: p50 relative to the first page 1 false',
    'contains, rare: p50 ms 1 true',
    'contains, rare: p50 ms 16 false',
    'contains, rare: plan  true',
    'query: plan  false',
    'contains, absent: plan  false',
    'maximum memory of the service, MB  true',
    'memory in the second half of a row, MB 1 false',
    'maximum memory after a start, MB  false',
    'warm start, s  true',
  ])
})

test('the p50 of a row that must not grow is compared with that of a run with fewer contacts', () => {
  const rows = [row(rowNames.one, 1, { p50: 1.3 }), row(rowNames.created, 1, { p50: 4 }), row(rowNames.query, 1, {})]
  const options = { contacts: 100_000, organizations: 20, seconds: 1, rounds: 1, processes: [1], queue: 1 }
  const earlier = { options, rows: [row(rowNames.one, 1, { p50: 1 }), row(rowNames.created, 1, { p50: 3 })] }
  const compared = targetsOf({ rows, plans: [], interactions: [], starts: [] }, earlier)
  expect(outcomes(compared).filter((line) => line.includes('100,000'))).toEqual([
    'get one: p50 relative to 100,000 contacts 1 true',
    'create: p50 relative to 100,000 contacts 1 false',
  ])
})

test('the memory limit is checked for the row with the largest growth', () => {
  const grown = (name: string, memory: Row['memory']) => ({ ...row(name, 16, {}), memory })
  const growthOf = (...rows: Row[]) =>
    targetsOf({ rows, plans: [], interactions: [], starts: [] }).find(({ name }) => /half/.test(name))
  const flat = grown(rowNames.sorted, [200, 200])
  expect(growthOf(flat, grown(rowNames.counted, [100, 145]))).toMatchObject({
    measured: '145 (count with a filter)',
    reached: true,
  })
  expect(growthOf(grown(rowNames.counted, [100, 146]), flat)).toMatchObject({ wanted: '≤ 145', reached: false })
  expect(growthOf(grown(rowNames.counted, [null, 146]))).toBeUndefined()
})

test('--row selects rows by parts of their names, and a text that matches none is a usage error', () => {
  expect(rowsWith([])).toEqual(Object.values(rowNames))
  expect(rowsWith(['rows processed', 'get'])).toEqual([rowNames.one, rowNames.processed, rowNames.processedOfTwo])
  expect(rowsWith(['push'])).toEqual([rowNames.pushed, rowNames.busy])
  expect(() => rowsWith(['get', 'get nothing'])).toThrow(new UsageError('No row name contains "get nothing".'))
})

test('each round takes the next people of the list and wraps around at the end', () => {
  expect([0, 1, 2, 3].map((round) => emailsForRound(['a', 'b', 'c', 'd', 'e'], round, 2).join(''))).toEqual([
    'ab',
    'cd',
    'ea',
    'bc',
  ])
  expect(emailsForRound(['a', 'b'], 1, 5)).toEqual(['a', 'b'])
  expect(emailsForRound([], 3, 5)).toEqual([])
})

test('each target goes first in one of three rounds', () => {
  const rounds = [0, 1, 2, 3].map((round) => rotate(['service', 'floor', 'driver'], round))
  expect(rounds.map(([first]) => first)).toEqual(['service', 'floor', 'driver', 'service'])
  for (const order of rounds) expect(order.toSorted()).toEqual(['driver', 'floor', 'service'])
})

test('wrong responses count before, during and after the measurement', async () => {
  const messages: TurnMessage[] = []
  const output = vi
    .spyOn(process.stdout, 'write')
    .mockImplementation((line) => messages.push(JSON.parse(String(line))) > 0)
  const counter = new Counter()
  const note = (milliseconds: number, isGood: boolean) => counter.record(milliseconds, isGood)
  const client = {
    begin: () => {
      note(5, false)
      note(6, true)
      // With no warm-up, this runs during the counting.
      setTimeout(() => [note(1, false), note(2, true), note(3, true)], 50)
    },
    close: async () => note(7, false),
  }
  await runTurn({ connections: 1, warmUp: 0, seconds: 0.01 }, counter, [client]).finally(() => output.mockRestore())
  expect(messages).toEqual([
    { event: 'begin' },
    { event: 'end', responses: 3, seconds: expect.any(Number), p50: 2, p99: 3 },
    { event: 'done', good: 3, failures: 3 },
  ])
})

test('the floor inserts the requested number of contacts, each with its root contact', () => {
  const statements = insertsOf(owner, new Random(1), { first: 7, end: 107 })
  const [roots = [], contacts = []] = statements.map(({ values: [, rows] }) => JSON.parse(rows ?? '') as TableRow[])
  expect([roots.length, contacts.length]).toEqual([100, 100])
  expect(contacts.map((contact) => contact.root_contact_id)).toEqual(roots.map(({ id }) => id))
  expect(new Set(contacts.map(({ email_key: key }) => key)).size).toBe(100)
})

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runsOf, seed } from '../../../test/seed.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

// Whatever is created, changed, deleted, restored and moved: an address belongs to one contact of a team at most, a request
// is refused exactly if it would break that, and `email` is the primary entry of `emails`.

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const pool = ['a', 'b', 'c', 'd', 'e']
const address = fc.constantFrom(...pool)
const addresses = fc.uniqueArray(address, { minLength: 0, maxLength: 3 })
const which = fc.nat({ max: 5 })

type Step =
  | { do: 'create' | 'list'; which: number; addresses: string[]; primary: number }
  | { do: 'email'; which: number; address: string; keeps: boolean }
  | { do: 'delete' | 'restore' | 'move'; which: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('create', 'list'), which, addresses, primary: fc.nat({ max: 2 }) }),
  fc.record({ do: fc.constant('email'), which, address, keeps: fc.boolean() }),
  fc.record({ do: fc.constantFrom('delete', 'restore', 'move'), which }),
)

interface Person {
  id: string
  team: number
  isDeleted: boolean
  /** The primary one first. */
  addresses: string[]
}

const emailOf = (name: string | undefined) => (name === undefined ? null : `${name}@example.com`)
const listOf = (names: readonly string[], primary: number) =>
  names.map((name, index) => ({ address: emailOf(name), primary: index === primary % names.length }))

/** What the step sends, and what the contact then is; undefined if there is no such contact. */
function meaningOf(step: Step, people: readonly Person[], teams: readonly string[]) {
  if (step.do === 'create' || step.do === 'list') {
    const { addresses: names, primary } = step
    const first = names[primary % names.length]
    const all = first === undefined ? [] : [first, ...names.filter((name) => name !== first)]
    const emails = listOf(names, primary)
    if (step.do === 'create') {
      const teamId = teams[step.which % 2]
      // Mostly with `email` alone, which is another statement.
      const body = names.length === 1 && step.which > 1 ? { email: emailOf(first) } : { emails }
      return {
        method: 'POST',
        path: '/v5/contacts',
        body: { name: 'N', teamId, ...body },
        next: { id: '', team: step.which % 2, isDeleted: false, addresses: all },
      }
    }
    const person = people[step.which % people.length]
    return person && sending(person, 'PATCH', '', { emails }, { addresses: all })
  }
  const person = people[step.which % people.length]
  if (!person) return undefined
  switch (step.do) {
    case 'email': {
      const [former, ...others] = person.addresses
      const kept = former !== undefined && former !== step.address && step.keeps ? [former] : []
      const all = [step.address, ...kept, ...others.filter((name) => name !== step.address)]
      return sending(
        person,
        'PATCH',
        '',
        { email: emailOf(step.address), keepFormerEmail: step.keeps },
        { addresses: all },
      )
    }
    case 'move':
      return sending(person, 'PATCH', '', { teamId: teams[1 - person.team] }, { team: 1 - person.team })
    case 'delete':
      return sending(person, 'DELETE', '', undefined, { isDeleted: true })
    default:
      return sending(person, 'POST', '/restore', undefined, { isDeleted: false })
  }
}

const sending = (person: Person, method: string, path: string, body: object | undefined, change: Partial<Person>) => ({
  method,
  path: `/v5/contacts/${person.id}${path}`,
  body,
  next: { ...person, ...change },
})

async function newOrganization(): Promise<{ organization: TestOrganization; teams: string[] }> {
  const organization = await service.newOrganization()
  const made = await Promise.all(
    ['One', 'Two'].map((name) => organization.call('POST', '/v5/teams', { body: { name } })),
  )
  return { organization, teams: made.map(({ body }) => body.id) }
}

test('a sequence of requests leaves every address with one contact of a team, and is refused only for that', async () => {
  const { organization, teams } = await newOrganization()
  const { call } = organization
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      const people: Person[] = []
      for (const one of steps) {
        const meaning = meaningOf(one, people, teams)
        if (!meaning) continue
        const { method, path, body, next } = meaning
        const before = people.find(({ id }) => id === next.id)
        const exists = before === undefined || (one.do === 'restore') === before.isDeleted
        const holders = people.filter(({ id, team, isDeleted }) => id !== next.id && team === next.team && !isDeleted)
        const isTaken =
          !next.isDeleted && next.addresses.some((name) => holders.some((held) => held.addresses.includes(name)))
        const answer = await call(method, path, { body })
        const expected = !exists
          ? 404
          : isTaken
            ? 409
            : { POST: one.do === 'create' ? 201 : 200, DELETE: 204, PATCH: 200 }[method]
        expect([one, answer.status]).toEqual([one, expected])
        if (isTaken && exists) {
          const names = holders
            .filter((held) => held.addresses.some((name) => next.addresses.includes(name)))
            .map(({ id }) => id)
          expect(names).toContain(answer.body.details[0].id)
        }
        if (answer.status >= 300) continue
        if (before) Object.assign(before, next)
        else people.push({ ...next, id: answer.body.id })
        if (method !== 'DELETE') expectShown(answer.body, next.addresses)
      }
      await Promise.all(people.map(({ id }) => call('DELETE', `/v5/contacts/${id}`)))
    }),
    { seed, numRuns: runsOf(24) },
  )
})

function expectShown(
  contact: { email: string | null; emails: { address: string; primary: boolean }[] },
  names: string[],
) {
  expect(contact.email).toBe(emailOf(names[0]))
  expect(contact.emails.filter(({ primary }) => primary).map((entry) => entry.address)).toEqual(
    names.slice(0, 1).map(emailOf),
  )
  expect(contact.emails.map((entry) => entry.address).sort()).toEqual(names.map(emailOf).sort())
}

test('concurrent requests leave every address with one contact of a team', async () => {
  const { organization, teams } = await newOrganization()
  const { call } = organization
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 6, maxLength: 12 }),
      fc.array(step, { minLength: 4, maxLength: 6 }),
      async (first, racing) => {
        const people: Person[] = []
        for (const one of first) {
          const meaning = meaningOf(one, people, teams)
          if (!meaning) continue
          const answer = await call(meaning.method, meaning.path, { body: meaning.body })
          if (answer.status === 201) people.push({ ...meaning.next, id: answer.body.id })
          else if (answer.status < 300)
            Object.assign(people.find(({ id }) => id === meaning.next.id) ?? {}, meaning.next)
        }
        const sent = racing.flatMap((one) => meaningOf(one, people, teams) ?? [])
        const answers = await Promise.all(sent.map(({ method, path, body }) => call(method, path, { body })))
        expect(answers.filter(({ status }) => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
        const { body: all } = await call('GET', '/v5/contacts?limit=100')
        const held = all.flatMap((contact: { teamId: string; emails: { address: string }[] }) =>
          contact.emails.map((entry) => `${contact.teamId} ${entry.address}`),
        )
        expect(held.sort()).toEqual([...new Set(held)].sort())
        for (const { email, emails } of all)
          expect(emails.find((entry: { primary: boolean }) => entry.primary)?.address ?? null).toBe(email)
        await Promise.all(all.map(({ id }: { id: string }) => call('DELETE', `/v5/contacts/${id}`)))
      },
    ),
    { seed, numRuns: runsOf(24) },
  )
})

import type { JsonObject } from '../src/platform/model/json.ts'

/** A lead that does not contradict the other leads of its person, so that their order does not matter. */
export interface SampleLead {
  person: number
  payload: { contact: JsonObject; employment: JsonObject; company?: JsonObject }
}

export type Random = () => number

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ item }) => item)
}

/** Leads about 0.4 people per lead; some people occur far more often than others. */
export function sampleLeads(count: number, random: Random): SampleLead[] {
  const people = Math.ceil(count * 0.4)
  const companies = Math.ceil(people / 12)
  return Array.from({ length: count }, () => {
    const person = Math.floor(random() ** 2 * people)
    const company = random() < 0.6 ? { company: companyOf(person % companies, random) } : {}
    return {
      person,
      payload: { contact: contactOf(person, random), employment: employmentOf(person, random), ...company },
    }
  })
}

/** Each property with a probability of one half. */
const randomSubset = (members: JsonObject, random: Random): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(() => random() < 0.5))

/** The text with random letters in upper case. */
const anyCase = (text: string, random: Random): string =>
  [...text].map((letter) => (random() < 0.3 ? letter.toUpperCase() : letter)).join('')

const pick = <Item>(items: readonly Item[], random: Random): Item => {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

/** The identifiers of a person. Every lead has a matching one, so that the result does not depend on the order. */
function keysOf(person: number, name: string, random: Random): JsonObject {
  const address = (box: string) => anyCase(`p${person}${box}@mail${person % 7}.example`, random)
  switch (person % 10) {
    case 0:
      return { email: address(pick(['a', 'b'], random)), externalIdCrm: `p${person}` }
    case 1:
      return { externalIdBilling: `p${person}`, name }
    case 2:
      return { linkedinHandle: pick(['', '@'], random) + `p${person}`, name }
    case 3:
      return {
        email: address(''),
        ...randomSubset({ externalIdCrm: `p${person}`, externalIdBilling: `p${person}` }, random),
      }
    default:
      return { email: address('') }
  }
}

function contactOf(person: number, random: Random): JsonObject {
  const name = `First${person} Last${person}`
  return {
    ...keysOf(person, name, random),
    ...randomSubset(
      {
        name,
        nickname: `nick ${person}`,
        bio: `Bio of ${person}`,
        website: `https://p${person}.example/`,
        location: `City ${person % 40}`,
        timeZone: pick(['Europe/Berlin'], random),
        githubHandle: `git-p${person}`,
        note: `Note ${Math.floor(random() * 4)} on ${person}`,
      },
      random,
    ),
  }
}

function employmentOf(person: number, random: Random): JsonObject {
  const jobs = Array.from({ length: person % 4 }, (_, index) => {
    const start = `20${10 + index * 3}-0${1 + (person % 9)}`
    const hasEnded = index % 2 === 0 && random() < 0.5
    return {
      organization: anyCase(`employer ${person % 50}`, random),
      title: `Job ${index}`,
      start,
      ...(hasEnded ? { end: `20${12 + index * 3}-12` } : { current: true }),
    }
  })
  return randomSubset(
    {
      title: `Title ${person % 30}`,
      seniority: pick(['SENIOR', 'Senior', 'senior'], random),
      history: jobs.filter(() => random() < 0.6),
    },
    random,
  )
}

/** Always has a name: otherwise the first lead would derive it from the domain. */
function companyOf(company: number, random: Random): JsonObject {
  const keys = {
    domain: pick(['', 'mail.', 'WWW.'], random) + `c${company}.example`,
    externalIdCrm: `c${company}`,
  }
  return {
    name: `Company ${company}`,
    ...randomSubset(
      {
        ...(company % 5 > 0 && keys),
        website: `https://c${company}.example/`,
        location: `City ${company % 11}`,
        employeesCount: 10 + company,
        annualRevenue: `${company}000.50`,
        stack: ['postgresql', `engine ${company}`],
        tags: [`tag ${Math.floor(random() * 3)}`],
      },
      random,
    ),
  }
}

import { type Lead, parsePush } from '../src/intake/payload/payload.ts'
import type { JsonValue } from '../src/platform/model/json.ts'

/** The lead of a valid push. */
export function leadOf(payload: JsonValue, parameters: Record<string, JsonValue> = {}): Lead {
  const read = parsePush(payload, parameters)
  if ('errors' in read) throw new Error(JSON.stringify(read.errors))
  return read.lead
}

/** The errors of an invalid push. */
export function errorsOf(payload: JsonValue): { field: string; message: string }[] {
  const read = parsePush(payload, {})
  if ('lead' in read) throw new Error('The push was accepted.')
  return read.errors
}

/** A push with a value for every property; leads with different numbers are about different people and companies. */
export const fullLead = (number: number) => ({
  contact: {
    email: `ada.${number}@example.com`,
    name: 'Ada Lovelace',
    nickname: 'Ada',
    bio: 'Wrote notes',
    avatar: 'https://ada.example/me.png',
    website: 'https://ada.example',
    location: 'London',
    timeZone: 'Europe/London',
    facebookHandle: `ada.${number}`,
    githubHandle: `ada-${number}`,
    instagramHandle: `ada.${number}`,
    linkedinHandle: `ada-${number}`,
    twitterHandle: `ada_${number}`,
    externalIdCrm: `c${number}`,
    externalIdHubSpot: `h${number}`,
    note: 'Met at the fair',
  },
  employment: {
    title: 'Analyst',
    seniority: 'SENIOR',
    history: [
      { organization: 'Engines', title: 'Analyst', start: '2020-01', current: true },
      { organization: 'Babbage', title: 'Clerk', start: '2018-01', end: '2019-12' },
    ],
  },
  company: {
    name: `Engines ${number}`,
    nickname: 'Engines',
    bio: 'Builds engines',
    subtitle: 'Engines for all',
    avatar: 'https://engines.example/logo.png',
    website: 'https://engines.example',
    domain: `engines-${number}.example`,
    location: 'London',
    timeZone: 'Europe/London',
    facebookHandle: `engines.${number}`,
    githubHandle: `engines-${number}`,
    instagramHandle: `engines.${number}`,
    linkedinHandle: `engines-${number}`,
    twitterHandle: `engines_${number}`,
    annualRevenue: '1250000.50',
    employeesCount: 12,
    foundedYear: 1833,
    fundingStage: 'series_a',
    fundingTotal: '40000',
    retailLocationsCount: 2,
    ticker: 'ENG',
    industries: ['machinery', 'software'],
    languages: ['en', 'de'],
    stack: ['brass', 'steam'],
    tags: ['prospect', 'vip'],
    externalIdCrm: `x${number}`,
  },
})

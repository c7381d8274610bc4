import { expect, test } from 'vitest'
import { ageOf, describeAge } from './security-rounds.ts'

test('a version lacks the scheduled rounds of security releases since its own', () => {
  expect(ageOf('18.4', new Date('2026-08-12T12:00:00Z'))).toEqual({ days: 90, missed: [] })
  expect(ageOf('18.4', new Date('2026-08-13T12:00:00Z'))?.missed).toEqual(['August 2026'])
  expect(describeAge('18.4 (Debian 18.4-1)', new Date('2026-11-27T00:00:00Z'))).toContain(
    'at least 197 days old and lacks 2 rounds of security releases: August 2026, November 2026',
  )
  expect(ageOf('15.2', new Date('2027-02-12T00:00:00Z'))?.missed).toHaveLength(3)
})

test('nothing is claimed about versions that are newer than this release knows', () => {
  for (const version of ['18.6', '15.20', '19.1', 'unknown'])
    expect(describeAge(version, new Date('2027-11-27T00:00:00Z'))).toBeUndefined()
})

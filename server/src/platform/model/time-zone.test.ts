import { expect, test } from 'vitest'
import { timeZoneName } from './time-zone.ts'

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/berlin', 'Europe/Berlin'],
  ['AMERICA/NEW_YORK', 'America/New_York'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['Iceland', 'Atlantic/Reykjavik'],
  ['etc/gmt+5', 'Etc/GMT+5'],
])('the canonical name of %s is %s', (given, canonical) => {
  expect(timeZoneName(given)).toBe(canonical)
})

test('a place keeps its name if IANA links it to one in another country', () => {
  for (const name of ['Europe/Oslo', 'Europe/Amsterdam', 'Atlantic/Reykjavik', 'Africa/Accra', 'Asia/Kuwait']) {
    expect(timeZoneName(name)).toBe(name)
  }
})

test('every name of UTC is UTC', () => {
  for (const name of ['UTC', 'utc', 'Etc/UTC', 'Etc/GMT', 'GMT', 'Zulu', 'Etc/Universal', 'Etc/Greenwich']) {
    expect([name, timeZoneName(name)]).toEqual([name, 'UTC'])
  }
})

test('every zone of this Node version has a canonical name, which is canonical itself', () => {
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const canonical = timeZoneName(name) ?? ''
    expect([name, timeZoneName(canonical)]).toEqual([name, canonical])
  }
})

test('anything else is rejected', () => {
  for (const name of ['', 'Mars/Phobos', '+01:00', 'Berlin', 'Factory', 'constructor', '__proto__', ' Europe/Berlin']) {
    expect([name, timeZoneName(name)]).toEqual([name, undefined])
  }
})

import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createDatabase } from '../../../test/postgres.ts'
import { connect } from '../database/connect.ts'
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

test('the migration replaces only valid stored zones with their canonical names', async () => {
  const database = await createDatabase()
  const client = await connect(database.connection)
  onTestFinished(async () => {
    await client.end()
    await database.drop()
  })
  const given = [
    ...Intl.supportedValuesOf('timeZone'),
    ...['europe/berlin', 'Asia/Calcutta', 'Iceland', 'Etc/UTC', 'utc', 'Europe/Oslo', 'Nowhere/Else'],
  ]
  await client.query(
    `insert into organizations (id, name, slug, time_zone)
     select gen_random_uuid(), zone, 'org-' || number, zone from unnest($1::text[]) with ordinality as given(zone, number)`,
    [given],
  )
  const migration = new URL('../../../migrations/0022_time_zone_names.sql', import.meta.url)
  await client.query(await readFile(migration, 'utf8'))
  const { rows } = await client.query<{ name: string; zone: string }>(
    'select name, time_zone as zone from organizations',
  )
  expect(rows).toHaveLength(given.length)
  for (const { name, zone } of rows) expect([name, zone]).toEqual([name, timeZoneName(name) ?? name])
})

import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { runsOf, seed } from '../../test/seed.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

type Address = readonly (string | null)[]

const formatted = async (addresses: readonly Address[]) => (await linesOf(addresses)).map(({ line }) => line)

/** The lines, and the names of their countries. */
async function linesOf(addresses: readonly Address[]) {
  const { rows } = await client.query<{ line: string | null; country: string | null }>(
    `select formatted_address(part->>0, part->>1, part->>2, part->>3, part->>4) as line,
        country_name(part->>4) as country
      from jsonb_array_elements($1) with ordinality as given (part, place) order by place`,
    [JSON.stringify(addresses)],
  )
  return rows
}

test.each([
  [['Hauptstr. 5', '10115', 'Berlin', null, 'DE'], 'Hauptstr. 5, 10115 Berlin, Germany'],
  [
    ['Leopoldstr. 1\nHinterhaus', '80802', 'München', 'Bayern', 'DE'],
    'Leopoldstr. 1, Hinterhaus, 80802 München, Bayern, Germany',
  ],
  [['12 Main St', '62704', 'Springfield', 'IL', 'US'], '12 Main St, Springfield, IL 62704, USA'],
  [['10 Downing St', 'SW1A 2AA', 'London', null, 'GB'], '10 Downing St, London, SW1A 2AA, United Kingdom'],
  [['1-1 Chiyoda', '100-0001', 'Chiyoda-ku', 'Tokyo', 'JP'], '1-1 Chiyoda, Chiyoda-ku, Tokyo 100-0001, Japan'],
  [['千代田1-1', '100-0001', '千代田区', '東京都', 'JP'], '〒100-0001 東京都千代田区千代田1-1, Japan'],
  [['세종대로 110', '04524', '중구', '서울특별시', 'KR'], '서울특별시 중구 세종대로 110, 04524, South Korea'],
  [['1 Smith St', '2000', 'Sydney', 'NSW', 'AU'], '1 Smith St, Sydney NSW 2000, Australia'],
  [['Av. Paulista 1000', '01310-100', 'São Paulo', 'SP', 'BR'], 'Av. Paulista 1000, São Paulo - SP, 01310-100, Brazil'],
  [['Via Roma 1', '00184', 'Roma', 'RM', 'IT'], 'Via Roma 1, 00184 Roma RM, Italy'],
  [['Kossuth tér 1-3', '1055', 'Budapest', null, 'HU'], 'Budapest, Kossuth tér 1-3, 1055, Hungary'],
  [['1 Raffles Place', '048616', 'Singapore', null, 'SG'], '1 Raffles Place, Singapore 048616, Singapore'],
  [['12 MG Road', '560001', 'Bengaluru', 'Karnataka', 'IN'], '12 MG Road, Bengaluru 560001, Karnataka, India'],
  [[null, null, 'Paris', null, 'FR'], 'Paris, France'],
  [[null, null, null, null, 'CH'], 'Switzerland'],
  [['1 Nowhere', null, 'Town', null, null], '1 Nowhere, Town'],
  [[null, null, null, null, null], null],
] as const)('%j is shown as %s', async (address, expected) => {
  expect(await formatted([address])).toEqual([expected])
})

const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const codes = letters.flatMap((one) => letters.map((other) => one + other)).filter((code) => countries.of(code))

/** What the service stores: one line without spaces at its ends, or several lines. */
const oneLine = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.constantFrom('東京都', ',', ', ', '-', '〒1', '1/2', 'a, b', '%s', '\\1', '$1', 'سوق', '👩‍👩‍👧'),
  )
  // eslint-disable-next-line no-control-regex -- the service refuses them
  .map((text) => text.replace(/[\u0000-\u001f\u007f]/g, '').trim())
  .filter((text) => text !== '')
const street = fc
  .array(oneLine, { minLength: 1, maxLength: 3 })
  .chain((lines) => fc.constantFrom('\n', '\r\n', '\n\n ').map((end) => lines.join(end)))
const optional = (text: fc.Arbitrary<string>) => fc.option(text, { freq: 3 })
const address = fc.tuple(
  optional(street),
  optional(oneLine),
  optional(oneLine),
  optional(oneLine),
  fc.option(fc.constantFrom(...codes), { freq: 8 }),
)

/** Without the marks that PostgreSQL or the layouts may count as space or as their own. */
const comparable = (text: string) => text.replaceAll(/[\s〒]+/gu, '')

test('in every country, no part of an address is lost, and it has one line that ends with the country', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(address, { minLength: 50, maxLength: 50 }), async (addresses) => {
      const lines = await linesOf(addresses)
      for (const [index, parts] of addresses.entries()) {
        const { line = null, country = null } = lines[index] ?? {}
        if (parts.every((part) => part === null)) {
          expect(line).toBeNull()
          continue
        }
        expect(line).not.toMatch(/[\n\r\v\f\u0085\u2028\u2029]/)
        const words = parts.slice(0, -1).flatMap((part) => part?.split(/[\n\r\v\f\u0085\u2028\u2029]+/) ?? [])
        for (const word of words) expect(comparable(line ?? '')).toContain(comparable(word))
        expect(line?.endsWith(country ?? '')).toBe(true)
      }
    }),
    { seed, numRuns: runsOf(40) },
  )
})

test('each country that can be stored has a name without a comma', async () => {
  const { rows } = await client.query<{ code: string; name: string }>(
    'select code, country_name(code) as name from unnest($1::text[]) code',
    [codes],
  )
  expect(rows.filter(({ name }) => name.includes(',') || name === '')).toEqual([])
})

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '../../database/database.ts'
import { sql } from '../../model/sql.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'

let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = new Database({ connection: testDatabase.connection, size: 1 })
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

async function folded(values: readonly string[]): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ value: string }>(
    'check the database',
    sql`select fold(value) as value from unnest(${values}::text[]) with ordinality as given(value, place) order by place`,
  )
  return rows.map(({ value }) => value)
}

/** The results must be the same on every engine and operating system, because indexes contain them. */
const examples: [text: string, folded: string][] = [
  ['Ada LOVELACE', 'ada lovelace'],
  ['Élodie', 'elodie'],
  ['E\u0301lodie', 'elodie'],
  ['ÀÉÎÕÜŸŠŽÇÑ', 'aeiouyszcn'],
  ['Straße', 'strasse'],
  ['STRAẞE', 'strasse'],
  ['Łódź', 'lodz'],
  ['Ørsted', 'orsted'],
  ['ÆON æon Œuvre', 'aeon aeon oeuvre'],
  ['Þór Ðorđ', 'thor dord'],
  ['İstanbul', 'istanbul'],
  ['ISPARTA ısparta', 'isparta isparta'],
  ['ΩΜΈΓΑ', 'ωμεγα'],
  ['ΣΊΣΥΦΟΣ σίσυφος', 'σισυφοσ σισυφοσ'],
  ['ЖАННА Ёлка Йод', 'жанна елка иод'],
  ['ԵՂԻՇԵ', 'եղիշե'],
  ['ﬁn ﬀ', 'fin ff'],
  ['①Ⅷ％Ａ', '1viii%a'],
  ['ǅungla', 'dzungla'],
  ['日本語 ガール', '日本語 ガール'],
  ['か\u3099', 'が'],
  ['ｶﾞ', 'ガ'],
  ['한국', '한국'],
  ['שלום', 'שלום'],
  ['مرحبا', 'مرحبا'],
  ['👩‍💻🇩🇪', '👩‍💻🇩🇪'],
  ['50%_\\', '50%_\\'],
  ['O’Brien O‘Brien OʼBrien O´Brien O`Brien O′Brien O＇Brien', Array(7).fill("o'brien").join(' ')],
  ['“Acme” „Acme“', '"acme" "acme"'],
  ['Jean‐Luc Jean‑Luc Jean–Luc Jean—Luc Jean−Luc Jean－Luc', Array(6).fill('jean-luc').join(' ')],
  ['Mu\u00adster\u200b \u202dAda\u202c \ufeffBob', 'muster ada bob'],
  ['مُحَمَّد', 'محمد'],
  ['أحمد إحمد آحمد ٱحمد', 'احمد احمد احمد احمد'],
  ['أُسامة', 'اسامه'],
  ['محـــمد', 'محمد'],
  ['مصطفى مصطفي فاطمة', 'مصطفي مصطفي فاطمه'],
  ['مؤمن عائشة', 'مؤمن عائشه'],
  ['کیا كيا می\u200cخواهم', 'كيا كيا ميخواهم'],
  ['٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹', '0123456789 0123456789'],
  ['שָׁלוֹם בְּרֵאשִׁ֖ית', 'שלום בראשית'],
  ['צה״ל ג׳ורג׳ תל־אביב', `צה"ל ג'ורג' תל-אביב`],
  ['かが はばぱ カガ', 'かが はばぱ カガ'],
  ['น้ำใจ ก่อน', 'น้ำใจ ก่อน'.normalize('NFKD')],
  ['हिन्दी संपर्क', 'हिन्दी संपर्क'],
  ['Nguyễn Đặng Ước', 'nguyen dang uoc'],
  ['Άννα Ἀθηνᾶ', 'αννα αθηνα'],
  ['', ''],
  ['\u0301', ''],
]

test('folding removes case and accents and keeps everything else', async () => {
  expect(await folded(examples.map(([text]) => text))).toEqual(examples.map(([, expected]) => expected))
})

const characters = fc.oneof(
  fc.constantFrom(...examples.flatMap(([text]) => [...text])),
  fc.integer({ min: 1, max: 0x24ff }).map((code) => String.fromCodePoint(code)),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
)
const texts = fc.array(fc.string({ unit: characters, maxLength: 12 }), { minLength: 40, maxLength: 40 })

test('folding is idempotent', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (values) => {
      const once = await folded(values)
      expect(await folded(once)).toEqual(once)
    }),
  )
})

test('lines fold independently of each other', async () => {
  await fc.assert(
    fc.asyncProperty(texts, texts, async (left, right) => {
      const [apart, other] = [await folded(left), await folded(right)]
      const together = await folded(left.map((value, index) => `${value}\n${right[index]}`))
      expect(together).toEqual(apart.map((value, index) => `${value}\n${other[index]}`))
    }),
  )
})

test('a part of a text is found in it, also in upper and lower case', async () => {
  // Only letters whose case mapping is a single letter; combining characters are left out.
  const letters = fc.constantFrom(...'aBcéÉßæØłжЖЁώΩσΣ日한١%_\\ .,-👍')
  const parts = fc.tuple(...[1, 2, 3].map(() => fc.string({ unit: letters, minLength: 1, maxLength: 6 })))
  const many = fc.array(parts, { minLength: 40, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(many, fc.constantFrom('as it is', 'upper', 'lower'), async (all, letterCase) => {
      const needles = all.map(([, part = '']) => part)
      const typed =
        letterCase === 'upper'
          ? needles.map((needle) => needle.toUpperCase())
          : letterCase === 'lower'
            ? needles.map((needle) => needle.toLowerCase())
            : needles
      const rows = await database.crossTenantQuery<{ found: boolean }>(
        'check the database',
        sql`select fold(haystack) like '%' || like_literal(needle) || '%' as found
          from unnest(${all.map((three) => three.join(''))}::text[], ${typed}::text[]) as given(haystack, needle)`,
      )
      expect(rows.map(({ found }, index) => [all[index], found])).toEqual(all.map((three) => [three, true]))
    }),
  )
})

test('wildcards in a search text are literal, including those that folding produces', async () => {
  const cases: [haystack: string, needle: string, found: boolean][] = [
    ['50%', '50%', true],
    ['500', '50%', false],
    ['50％', '50%', true],
    ['50%', '50％', true],
    ['500', '５０％', false],
    ['a_b', 'A_B', true],
    ['axb', 'a_b', false],
    ['axb', 'a＿b', false],
    ['a\\b', 'a\\b', true],
    ['ab', 'a\\b', false],
  ]
  for (const [haystack, needle, found] of cases) {
    const [row] = await database.crossTenantQuery(
      'check the database',
      sql`select fold(${haystack}::text) like '%' || like_literal(${needle}::text) || '%' as found`,
    )
    expect([haystack, needle, row]).toEqual([haystack, needle, { found }])
  }
})

test('sort keys are truncated, so that long texts fit in an index', async () => {
  const [row] = await database.crossTenantQuery(
    'check the database',
    sql`select length(sort_key(repeat('ß', 10000))) as short, sort_key('Éa') as key, sort_key(null) as nothing`,
  )
  expect(row).toEqual({ short: 200, key: 'ea', nothing: null })
})

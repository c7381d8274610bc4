import { afterAll, expect, test } from 'vitest'
import { inBrowser } from '../../test/browser-globals.ts'
import { loadRefusals } from './refusal-forms.ts'
import { refusalText } from './refusals.ts'

afterAll(inBrowser({ navigator: { languages: ['en', 'de'] } }))

/** What the service says about lists of addresses and about jobs, in English and in German. */
const table: readonly (readonly [string, string, string])[] = [
  ['only one entry can be primary', 'Only one entry can be primary.', 'Nur ein Eintrag kann primär sein.'],
  ['is the same as entry 0', 'This is the same as entry 1.', 'Das ist dasselbe wie Eintrag 1.'],
  [
    'disagrees with emails, whose primary entry must have the same address',
    'The list has another primary entry.',
    'Die Liste hat einen anderen primären Eintrag.',
  ],
  [
    'other entries exist: send the whole list, or [] to remove all',
    'There are further entries: choose another primary one, or remove all.',
    'Es gibt weitere Einträge: Wählen Sie einen anderen als primären, oder entfernen Sie alle.',
  ],
  ['there are 20 entries already', 'There are 20 entries already.', 'Es gibt bereits 20 Einträge.'],
  ['must be empty for a current job', 'A current job has no end.', 'Eine aktuelle Stelle hat kein Ende.'],
  [
    'must not be earlier than start',
    'The end cannot be before the start.',
    'Das Ende kann nicht vor dem Beginn liegen.',
  ],
]

test('refusals of lists and jobs have texts in both languages, which count entries from 1', async () => {
  for (const [language, column] of [
    ['en', 1],
    ['de', 2],
  ] as const) {
    await loadRefusals(language)
    expect(table.map(([said]) => refusalText(said))).toEqual(table.map((row) => row[column]))
  }
})

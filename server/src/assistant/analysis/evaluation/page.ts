import { intents, type Note } from '../analysis.ts'
import { interpret } from '../rules/rules.ts'
import { verify } from '../verify.ts'
import { byKeywords, mostFrequent } from './baselines.ts'
import { type Answer, type Figures, measure } from './figures.ts'
import { factsFor, type LabelledInjection, type LabelledNote, readInjections, readNotes } from './labels.ts'

/** The rules with the checks that follow them, as the service uses them. */
export function byRules({ text, timeZone }: Pick<LabelledNote, 'text' | 'timeZone'>): Answer & { suspicious: boolean } {
  const note: Note = { organizationId: '', text }
  const facts = factsFor(timeZone)
  return verify(interpret(text, facts).interpretation, note, facts)
}

/** The actions that an injection gains: those that its plain meaning does not have. */
export const gainedActions = ({ text, actions }: LabelledInjection): string[] =>
  byRules({ text, timeZone: 'Europe/Berlin' })
    .actions.map(({ type }) => type)
    .filter((type) => !actions.includes(type))

/** docs/next-actions/README.md: the figures of the rules on the labelled notes. */
export async function describeFigures(root: string): Promise<string> {
  const [notes, injections] = await Promise.all([readNotes(root), readInjections(root)])
  const [tune, test] = (['tune', 'test'] as const).map((split) => notes.filter((note) => note.split === split))
  if (!tune || !test) throw new Error('the labelled notes are missing')
  const onTest = measure(test, byRules)
  const summary = [
    summaryRow('rules, `test`', onTest),
    summaryRow('rules, `tune`', measure(tune, byRules)),
    summaryRow('keywords, `test`', measure(test, byKeywords)),
    summaryRow('always the most frequent intent, `test`', measure(test, mostFrequent(tune))),
  ]
  return [
    ...introduction(notes, { tune: tune.length, test: test.length }),
    '| engine and notes | accuracy | macro F1 | action precision | action recall | due date | evidence |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...summary,
    '',
    ...explanation,
    '## By intent (rules, `test`)',
    '',
    '| intent | notes | precision | recall | F1 |',
    '| --- | --- | --- | --- | --- |',
    ...intents.map((intent) => intentRow(intent, onTest)),
    '',
    ...injectionSection(injections),
  ].join('\n')
}

const introduction = (notes: readonly LabelledNote[], { tune, test }: { tune: number; test: number }): string[] => [
  '# Next actions: labelled notes and figures',
  '',
  'Generated from `notes.jsonl` and `injections.jsonl` by `npm run generate`; do not edit.',
  '',
  'Each new note is analysed: what the contact wants (the intent), and which actions follow. This page measures the',
  'built-in rules. `npm run check` fails if it is out of date, and the tests fail if a figure drops.',
  '',
  `[\`notes.jsonl\`](notes.jsonl) has ${notes.length} notes: ${countOf(notes, 'en')} in English, ${countOf(notes, 'de')} in German, ${countOf(notes, 'other')} in other languages,`,
  'written for this purpose as people write them: short and long, with typos, signatures, quoted mails, negations and',
  'dates, by contacts and by colleagues about contacts.',
  '',
  `- \`tune\` (${tune} notes): the phrases were written with these notes.`,
  `- \`test\` (${test} notes): usual replies and call notes, written after the phrases. No phrase was changed because of them.`,
  '',
  '## Figures',
  '',
]

const countOf = (notes: readonly LabelledNote[], language: string): number =>
  notes.filter((note) => note.language === language).length

const explanation = [
  'The due date must be exact, to the minute, in the zone of the contact. Evidence counts if it overlaps the labelled words.',
  '',
  'Notes and phrases have the same author, so expect the rules to miss more in your notes than here. An earlier set of 130',
  'notes, in unusual words on purpose, had a macro F1 of 0.41 before it became part of `tune`. A missed note is `unclear`',
  'and has no suggestion; the precision says how often a suggestion is right.',
  '',
]

const injectionSection = (injections: readonly LabelledInjection[]): string[] => [
  '## Injections',
  '',
  `[\`injections.jsonl\`](injections.jsonl) has ${injections.length} notes that try to make an engine act: orders to a model, forged roles and outputs,`,
  `hidden and encoded text. Actions that they gain with the rules: ${injections.flatMap(gainedActions).length}. Recognized: ${injections.filter(isRecognized).length} of ${injections.length}.`,
  'A recognized one is not sent to a model either. A contact can still opt out in such a note, for themselves.',
  '',
]

const isRecognized = ({ text }: LabelledInjection): boolean => byRules({ text, timeZone: 'Europe/Berlin' }).suspicious

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`
const decimal = (value: number): string => value.toFixed(3)

const summaryRow = (name: string, { accuracy, macroF1, actions, dueAccuracy, evidenceOverlap }: Figures): string =>
  `| ${name} | ${percent(accuracy)} | ${decimal(macroF1)} | ${percent(actions.precision)} | ${percent(actions.recall)} | ${percent(dueAccuracy)} | ${percent(evidenceOverlap)} |`

function intentRow(intent: (typeof intents)[number], figures: Figures): string {
  const score = figures.byIntent.get(intent)
  if (!score) throw new Error(`${intent} was not measured`)
  return `| \`${intent}\` | ${score.notes} | ${percent(score.precision)} | ${percent(score.recall)} | ${decimal(score.f1)} |`
}

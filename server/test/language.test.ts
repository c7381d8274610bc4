import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseSource, readSources, readTexts, type Source } from './sources.ts'

// Plain English, as far as a tool can check it: words that have a better one, and the share of comments.
// For the subjects of commits, see commit-subjects.test.ts.

/** Words that hardly ever have a legitimate use. They are also found as parts of names. */
const replacements: readonly (readonly [insteadOf: string, write: string])[] = [
  ['upkeep', 'maintenance'],
  ['interface [47]\\.\\d', 'what the section says, in words'],
  ['perishable', 'row with a retention policy'],
  ['spared', 'excluded'],
  ['until kept|kept seconds|kept until', 'retention, TTL or expiry'],
  ['manieth', 'number, index or attempt'],
  ['patience', 'timeout or retry policy'],
  ['homeless', 'without an organization'],
  ['strangers?', 'anonymous client, unknown trigger, another person'],
  ['verdicts?', 'decision or result'],
  ['fates?', 'outcome'],
  ['weighed|unweighed', 'planner-visible, planner-hidden'],
  ['raced', 'conflict'],
  ['unparsed', 'parser errors'],
  ['knocks?|knocked', 'probe'],
  ['bell', 'wakeup'],
  ['dear|weighty', 'sensitive, expensive, important'],
  ['laid aside', 'dropped'],
  ['made again', 'recreated or repeated'],
  ['told|tells', 'report, return, log, show, distinguish'],
  ['beside', 'next to, besides, during'],
  ['whoever|whomever', 'the noun: "the person who", "any client that"'],
  ['whom', 'who, or the noun'],
  ['but for (?:the|a|an|this|that|one|two)', 'except'],
  ['(?<!there )is none', 'the positive word: "is invalid", "does not exist"'],
]

/** Turns of phrase that make a reader start over. Identifiers cannot contain them. */
const rephrasings: readonly (readonly [insteadOf: string, write: string])[] = [
  ['(?<!there )(?:is|are) no (?!longer|more|less|slower|faster|better|worse)', 'the positive word, or "is not a"'],
  ['of before', 'previous, earlier'],
  ['else than', 'other than, differs from'],
  ['others than', 'the positive words'],
  ['what is as', 'values equal to'],
  ['anew', 'again, from the start, reload'],
  ['by and by', 'gradually, later'],
  ['say nothing to people', 'internal'],
  ['in (?:the )?place of', 'instead of'],
  ['goes on', 'continues'],
  ['(?:is|was) on its way', 'in flight, being sent'],
  ['two looks', 'polls, refetches'],
  ['tak(?:e|es|en|ing) back|took back', 'undo, revert'],
  ['former ones', 'previous'],
]

/** A space in a pattern also matches a line break, together with the marker that begins the next line of a comment. */
const gap = '(?: |\\n[ \\t]*(?:\\*|//|--|>)? ?)'

const expression = (insteadOf: string, flags: string): RegExp =>
  new RegExp(`\\b(?:${insteadOf.replaceAll(' ', gap)})\\b`, flags)

function patternsOf(list: typeof replacements) {
  const patterns = list.map(([insteadOf, write]) => ({ pattern: expression(insteadOf, 'gi'), write }))
  return { any: expression(list.map(([insteadOf]) => insteadOf).join('|'), 'i'), patterns }
}

const inNames = patternsOf(replacements)
const inTexts = patternsOf([...replacements, ...rephrasings])

/** `file:line: "word": write …` for each of the words in the text. */
const wordsIn = (path: string, text: string, firstLine = 1, { any, patterns } = inTexts): string[] =>
  !any.test(text)
    ? []
    : patterns.flatMap(({ pattern, write }) =>
        [...text.matchAll(pattern)].map(
          ({ 0: word, index }) =>
            `${path}:${firstLine + countLines(text.slice(0, index)) - 1}: "${word}": write ${write}`,
        ),
      )

const countLines = (text: string): number => text.split('\n').length

/** `isHTTPClosed_2` → `is HTTP Closed 2`; titles of tests stay as they are. */
const spellOut = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=\d)|[_#]/g, ' ')

/** Most names occur many times. */
const goodNames = new Set<string>()

function wordsInName(path: string, text: string, line: number): string[] {
  if (goodNames.has(text)) return []
  const found = text.includes(' ') ? wordsIn(path, text, line) : wordsIn(path, spellOut(text), line, inNames)
  if (found.length === 0) goodNames.add(text)
  return found
}

const wordsInCode = ({ path, names, comments }: Source): string[] => [
  ...names.flatMap(({ text, line }) => wordsInName(path, text, line)),
  ...wordsIn(path, comments),
]

const code = readSources(
  ['server/src', 'server/test', 'web/src', 'web/test', 'lab', 'scripts', 'bin'],
  /\.(?:tsx?|mjs|js)$/,
).filter(({ path }) => path !== 'web/src/api/openapi.d.ts')

test('names and comments use the words of the field', () => {
  expect(code.length).toBeGreaterThan(500)
  expect(code.flatMap(wordsInCode)).toEqual([])
})

test('a fault is an injected failure: what is wrong with a request is an error', () => {
  // The response of `POST /auth/passwords/check` has this property.
  const withResponse = ['server/src/identity/auth/checks.ts', 'web/src/access/new-password-field.tsx']
  const product = code.filter(({ path }) => /^(?:server|web)\/src\//.test(path) && !/\.test\.tsx?$/.test(path))
  const words = patternsOf([['faults?|faulty', 'error, problem or violation']])
  const namesOf = ({ path, names, comments }: Source) => [
    ...names.flatMap(({ text, line }) => wordsIn(path, spellOut(text), line, words)),
    ...wordsIn(path, comments, 1, words),
  ]
  expect(product.length).toBeGreaterThan(400)
  expect(product.filter(({ path }) => !withResponse.includes(path)).flatMap(namesOf)).toEqual([])
  expect(namesOf(parseSource('planted.ts', 'const bodyFaults = 1 // a fault'))).toHaveLength(2)
})

test('documents and the comments of the schema use the words of the field', () => {
  const documents = [
    ...readTexts(['docs', 'lab'], /\.md$/),
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].map((path) => ({ path, text: read(path) })),
  ]
  const schema = readTexts(['server/schema'], /\.sql$/)
  expect(documents.length).toBeGreaterThan(20)
  expect(schema.length).toBeGreaterThan(5)
  expect([
    ...documents.flatMap(({ path, text }) => wordsIn(path, withoutFixedWords(text))),
    ...schema.flatMap(({ path, text }) => wordsIn(path, onlySqlComments(text))),
  ]).toEqual([])
})

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The section "Renamed" of docs/guides/api-versions.md has to quote the old names. */
const withoutFixedWords = (text: string): string =>
  text.replace(/^### Renamed\n[\s\S]*?(?=^##)/m, (section) => '\n'.repeat(countLines(section) - 1))

const onlySqlComments = (text: string): string => text.replaceAll(/^(?:(?!--).)*/gm, '')

test('the check finds words in names, comments, titles, documents and the schema', () => {
  const planted = parseSource(
    'planted.ts',
    `const rowFates = 1, isLaidAside = 'https://told'
     /** A stranger, which is
      * none. If there is none, all is well: there
      * is none. */
     test('the upkeep runs', () => rowFates) // beside it
     const isNoName = goesOn // This goes
     // on, and others than those are read anew.
     browserTest('no longer is no answer', () => {})`,
  )
  expect(wordsInCode(planted)).toEqual([
    'planted.ts:1: "Fates": write outcome',
    'planted.ts:1: "Laid Aside": write dropped',
    'planted.ts:5: "upkeep": write maintenance',
    'planted.ts:8: "is no ": write the positive word, or "is not a"',
    'planted.ts:2: "stranger": write anonymous client, unknown trigger, another person',
    'planted.ts:5: "beside": write next to, besides, during',
    expect.stringMatching(/^planted\.ts:2: "is\s.*none": write the positive word/s),
    'planted.ts:7: "others than": write the positive words',
    'planted.ts:7: "anew": write again, from the start, reload',
    expect.stringMatching(/^planted\.ts:6: "goes\s.*on": write continues/s),
  ])
  const changelog = withoutFixedWords('## Next\n### Renamed\n| `upkeep` |\n### Added\nWhoever\n')
  expect(wordsIn('CHANGELOG.md', changelog)).toEqual([expect.stringMatching(/^CHANGELOG\.md:5: "Whoever": write/)])
  const comments = onlySqlComments('create table fate ();\n  told text, -- dear\n')
  expect(wordsIn('1.sql', comments)).toEqual(['1.sql:2: "dear": write sensitive, expensive, important'])
})

test('3 to 8 % of the lines of server/src have comments, and no folder has too many', () => {
  const files = code.filter(({ path }) => path.startsWith('server/src/'))
  expect(commentShare(files)).toBeGreaterThanOrEqual(3)
  expect(commentShare(files)).toBeLessThanOrEqual(8)
  const product = files.filter(({ isTest }) => !isTest)
  const folderOf = ({ path }: Source) => path.split('/').slice(0, -1).slice(0, 3).join('/')
  const shares = [...new Set(product.map(folderOf))].map((folder) => {
    return { folder, share: commentShare(product.filter((file) => folderOf(file) === folder)) }
  })
  expect(shares.length).toBeGreaterThan(4)
  expect(shares.filter(({ share }) => share > maxFolderShare)).toEqual([])
})

test('at most 8 % of the lines of web/src have comments', () => {
  expect(commentShare(code.filter(({ path }) => path.startsWith('web/src/')))).toBeLessThanOrEqual(8)
})

/** The goal is 8 % in each folder too. This limit leaves out the tests, which have few comments. */
const maxFolderShare = 10.5

/** Percent of the lines that contain a comment; blank lines do not count. */
function commentShare(files: readonly Source[]): number {
  const comments = files.flatMap((file) => file.comments.split('\n').filter((line) => line.trim()))
  return (100 * comments.length) / files.reduce((sum, { nonBlankLines }) => sum + nonBlankLines, 0)
}

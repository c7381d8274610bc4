import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseSource, readSources, readTexts, type Source } from './sources.ts'

// Plain English, as far as a tool can check it: words that have a better one, and the share of comments.

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

/** A space in a pattern also matches a line break, together with the marker that begins the next line of a comment. */
const gap = '(?: |\\n[ \\t]*(?:\\*|//|--|>)? ?)'

const patterns = replacements.map(([insteadOf, write]) => ({
  pattern: new RegExp(`\\b(?:${insteadOf.replaceAll(' ', gap)})\\b`, 'gi'),
  write,
}))

/** `file:line: "word": write …` for each of the words in the text. */
const wordsIn = (path: string, text: string, firstLine = 1): string[] =>
  patterns.flatMap(({ pattern, write }) =>
    [...text.matchAll(pattern)].map(
      ({ 0: word, index }) => `${path}:${firstLine + countLines(text.slice(0, index)) - 1}: "${word}": write ${write}`,
    ),
  )

const countLines = (text: string): number => text.split('\n').length

/** `isHTTPClosed_2` → `is HTTP Closed 2`; titles of tests stay as they are. */
const spellOut = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=\d)|[_#]/g, ' ')

const wordsInCode = ({ path, names, comments }: Source): string[] => [
  ...names.flatMap(({ text, line }) => wordsIn(path, spellOut(text), line)),
  ...wordsIn(path, comments),
]

const code = readSources(
  ['server/src', 'server/test', 'web/src', 'lab', 'scripts', 'bin'],
  /\.(?:tsx?|mjs|js)$/,
).filter(({ path }) => path !== 'web/src/api/openapi.d.ts')

test('names and comments use the words of the field', () => {
  expect(code.length).toBeGreaterThan(500)
  expect(code.flatMap(wordsInCode)).toEqual([])
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
     test('the upkeep runs', () => rowFates) // beside it`,
  )
  expect(wordsInCode(planted)).toEqual([
    'planted.ts:1: "Fates": write outcome',
    'planted.ts:1: "Laid Aside": write dropped',
    'planted.ts:5: "upkeep": write maintenance',
    'planted.ts:2: "stranger": write anonymous client, unknown trigger, another person',
    'planted.ts:5: "beside": write next to, besides, during',
    expect.stringMatching(/^planted\.ts:2: "is\s.*none": write the positive word/s),
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

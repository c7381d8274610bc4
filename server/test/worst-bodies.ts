import type { Route } from '../src/platform/http/route.ts'
import { maxNames } from '../src/platform/http/protocol/json-scan.ts'
import type { Schema } from '../src/platform/model/json.ts'

/** Writes an ASCII text of at most this many bytes. */
type BodyWriter = (bytes: number) => string

const repeatPiece = (
  bytes: number,
  open: string,
  close: string,
  piece: string | ((index: number) => string),
): string => {
  // Adding half a million pieces one by one would take longer than the service takes to read them.
  if (typeof piece === 'string') {
    const count = Math.max(0, Math.floor((bytes - open.length - close.length) / (piece.length + 1)))
    return `${open}${`${piece},`.repeat(count).slice(0, -1)}${close}`
  }
  const pieces: string[] = []
  for (let remaining = bytes - open.length - close.length; ;) {
    const next = piece(pieces.length)
    remaining -= next.length + 1
    if (remaining < 0) return `${open}${pieces.join(',')}${close}`
    pieces.push(next)
  }
}

/** Leaves a hundred names of the body for the fields around the object. */
const namesWithinLimit = (bytes: number, property: (index: number) => string): string =>
  `{${Array.from({ length: Math.min(maxNames - 100, Math.floor(bytes / 16)) }, (_, index) => property(index)).join(',')}}`

/** Values of any length. */
const valueWriters: Readonly<Record<string, BodyWriter>> = {
  'a long string': (bytes) => `"${'x'.repeat(Math.max(0, bytes - 2))}"`,
  'a long string of blanks': (bytes) => `"${' '.repeat(Math.max(0, bytes - 2))}"`,
  'a string of line feeds': (bytes) => `"${'\\n'.repeat(Math.max(0, bytes / 2 - 1))}"`,
  'a string of escapes': (bytes) => `"${'\\u0041'.repeat(Math.max(0, bytes / 6 - 1))}"`,
  'small numbers': (bytes) => repeatPiece(bytes, '[', ']', '1'),
  'long numbers': (bytes) => repeatPiece(bytes, '[', ']', (index) => `0.${1_000_000_000_000_001 + index}`),
  'numbers with exponents': (bytes) => repeatPiece(bytes, '[', ']', '1.5e-7'),
  'numbers that are refused': (bytes) => repeatPiece(bytes, '[', ']', '1e400'),
  'short strings': (bytes) => repeatPiece(bytes, '[', ']', '"a"'),
  'empty strings': (bytes) => repeatPiece(bytes, '[', ']', '""'),
  'strings that are too long': (bytes) => repeatPiece(bytes, '[', ']', (index) => `"${'y'.repeat(120)}${index}"`),
  'pairs of surrogates': (bytes) => repeatPiece(bytes, '[', ']', '"\\ud83d\\ude00"'),
  'empty objects': (bytes) => repeatPiece(bytes, '[', ']', '{}'),
  'deep arrays': (bytes) => repeatPiece(bytes, '[', ']', '['.repeat(25) + ']'.repeat(25)),
  'many names': (bytes) => repeatPiece(bytes, '{', '}', (index) => `"n${index}":0`),
  'as many names as a body can have': (bytes) => namesWithinLimit(bytes, (index) => `"n${index}":"x"`),
  'as many nulls as a body can have': (bytes) => namesWithinLimit(bytes, (index) => `"n${index}":null`),
  'as many nested names as a body can have': (bytes) =>
    `{"a":${namesWithinLimit(bytes - 6, (index) => `"n${index}":0`)}}`,
  'nested names in 60,000 characters': (bytes) =>
    `{"a":${namesWithinLimit(Math.min(bytes, 60_000) - 6, (index) => `"${index.toString(36)}":0`)}}`,
  'long names': (bytes) => repeatPiece(bytes, '{', '}', (index) => `"${'n'.repeat(300)}${index}":0`),
}

/** Bodies that are independent of the route's fields. */
const generalBodies: Readonly<Record<string, BodyWriter>> = {
  'unknown names': (bytes) => repeatPiece(bytes, '{', '}', (index) => `"emaiil${index}":1`),
  'escaped names': (bytes) => repeatPiece(bytes, '{', '}', (index) => `"\\u0041${index}":1`),
  'a name given twice at the end': (bytes) =>
    repeatPiece(bytes, '{', ',"n0":1}', (index) => `"n${index % 9000}${'x'.repeat(Math.min(index / 9000, 50))}":1`),
  'one long name': (bytes) => `{"${'x'.repeat(bytes - 6)}":1}`,
  'open brackets': (bytes) => '['.repeat(bytes),
  blanks: (bytes) => `${' '.repeat(bytes - 7)}{"a":1}`,
  'line feeds and no end': (bytes) => '\n'.repeat(bytes),
  'an error at the end': (bytes) => `${repeatPiece(bytes - 1, '[', ']', '12')}x`,
  'no object': (bytes) => repeatPiece(bytes, '[', ']', 'null'),
}

/** Fields of a body and the objects around them. */
interface FieldGroup {
  open: string
  close: string
  fields: readonly string[]
}

/** A body that is expensive to process in one way. */
export interface WorstBody {
  name: string
  bytes: Buffer
}

/** Cached by length, because creating them takes longer than sending them. */
const generalTexts = new Map<string, string>()

function generalText(name: string, write: BodyWriter, bytes: number): string {
  const text = generalTexts.get(`${name} ${bytes}`) ?? write(bytes)
  generalTexts.set(`${name} ${bytes}`, text)
  return text
}

/** Those bodies of at most this many bytes whose position `isWanted`, each as expensive as possible in one way. */
export function worstBodies(route: Route, bytes: number, isWanted: (position: number) => boolean): WorstBody[] {
  const general = Object.entries(generalBodies).map(
    ([name, write]) => [name, () => generalText(name, write, bytes)] as const,
  )
  const perField = fieldGroupsOf(route).flatMap(({ open, close, fields }) =>
    Object.entries(valueWriters).map(([name, value]) => {
      const each = Math.floor((bytes - open.length - close.length) / fields.length) - 64
      const members = () => fields.map((field) => `"${field}":${value(each)}`)
      return [`${name} in ${open}${fields.length} fields`, () => `${open}${members().join(',')}${close}`] as const
    }),
  )
  return [...general, ...perField]
    .filter((_, position) => isWanted(position))
    .map(([name, text]) => ({ name, bytes: Buffer.from(text()) }))
}

function fieldGroupsOf(route: Route): FieldGroup[] {
  if (route.kind === 'push') {
    const { properties } = route.payload.schema as { properties: Record<string, Schema> }
    const lead = '"contact":{"email":"ada@example.com"}'
    const parts = Object.entries(properties).map(([name, { properties: inner }]) => ({
      open: name === 'contact' ? '{"contact":{' : `{${lead},"${name}":{`,
      close: '}}',
      fields: Object.keys(inner as object),
    }))
    return [
      ...parts,
      { open: `{${lead},`, close: '}', fields: ['unknown'] },
      { open: `{${lead},"company":{`, close: '}}', fields: ['tags'] },
      { open: `{${lead},"employment":{`, close: '}}', fields: ['history'] },
    ]
  }
  if (route.kind === 'search') {
    return [
      { open: '{', close: '}', fields: ['filter', 'select', 'query'] },
      { open: '{"filter":{', close: '}}', fields: ['or', 'id'] },
      { open: '{"filter":{"id":{', close: '}}}', fields: ['in', 'equals'] },
    ]
  }
  const fields = 'body' in route ? (route.body?.shape.fields ?? {}) : {}
  const names = Object.keys(fields)
  const large = names.filter((name) => ['properties', 'array', 'none'].includes(fields[name]?.filter ?? ''))
  return [
    ...(names.length > 0 ? [{ open: '{', close: '}', fields: names }] : []),
    ...large.map((name) => ({ open: '{', close: '}', fields: [name] })),
  ]
}

/** Queries of nearly 8 KiB. */
export function worstQueries(): [string, string][] {
  const list = (piece: (index: number) => string, bytes = 8000) => {
    let text = ''
    for (let index = 0; text.length < bytes; index += 1) text += `${text === '' ? '' : '&'}${piece(index)}`
    return text
  }
  return [
    ['unknown parameters', list((index) => `emaiil${index}=1`)],
    ['the shortest parameters', list(() => 'a')],
    ['unknown filters', list((index) => `filter.emaiil${index}.equals=1`)],
    ['the same filter', list(() => 'filter.name.equals=a')],
    ['25 filters with 12 values', list((index) => `filter.name.in=${'a,'.repeat(140)}a${index}`, 7000)],
    ['one filter with many values', `filter.name.in=${'a,'.repeat(3900)}a`],
    ['selected fields', list(() => 'select[]=id')],
    ['many selected fields in one', `select=${'idd,'.repeat(1900)}id`],
    ['unknown selected fields', list((index) => `select[]=emaiil${index}`, 1900)],
    ['deep paths', `filter.${'a.'.repeat(3900)}equals=1`],
    ['a long search', `query=${'a+'.repeat(3900)}`],
    ['a long word', `query=${'a'.repeat(7900)}`],
    ['escapes', `query=${'%41'.repeat(2600)}`],
    ['broken escapes', list(() => 'a=%')],
    ['a long cursor', `startingAfter=${'a'.repeat(7900)}`],
    ['backslashes', `filter.name.in=${'\\,'.repeat(3900)}`],
  ]
}

import type { Schema } from './document.ts'
import { type Json, piecesOf, scalar } from './json.ts'
import type { Random } from './random.ts'

/** The parts of generated values. */
export interface Lexicon {
  words: readonly string[]
  /** Ids of existing records, by prefix. */
  ids: ReadonlyMap<string, readonly string[]>
  /** Domain of the generated addresses. */
  domain: string
}

/** Generates a valid value for the schema. `around`: the schemas that contain it, which may be the same one. */
export function valueOf(schema: Schema, random: Random, lexicon: Lexicon, around: readonly Schema[] = []): Json {
  if (schema.const !== undefined) return piecesOf(schema.const)
  if (Array.isArray(schema.enum)) return piecesOf(random.pick(schema.enum))
  if (Array.isArray(schema.anyOf)) return valueOf(random.pick(schema.anyOf as Schema[]), random, lexicon, around)
  const types = [schema.type ?? 'any'].flat() as string[]
  const type = types.includes('null') && random.chance(12) ? 'null' : types.find((name) => name !== 'null')
  switch (type) {
    case 'object':
      return objectOf(schema, random, lexicon, around)
    case 'array':
      return { kind: 'list', items: listOf(schema, random, lexicon, around) }
    case 'boolean':
      return scalar(random.pick(['true', 'false']))
    case 'integer':
      return scalar(String(integerOf(schema, random)))
    case 'number':
      return scalar(String(random.pick([0, -12.5, 52.52, 13.405, 0.1, 77])))
    case 'string':
      return scalar(JSON.stringify(textOf(schema, random, lexicon)))
    case 'any':
      return piecesOf(random.pick([...lexicon.words, 12, true, [random.pick(lexicon.words)], null]))
    default:
      return scalar('null')
  }
}

function listOf(schema: Schema, random: Random, lexicon: Lexicon, around: readonly Schema[]): Json[] {
  const { examples } = schema
  if (Array.isArray(examples) && random.chance(70)) return (random.pick(examples) as unknown[]).map(piecesOf)
  return Array.from({ length: random.below(4) }, () => valueOf((schema.items ?? {}) as Schema, random, lexicon, around))
}

/**
 * All required properties, some optional ones, and a few with free names if the schema allows them. An object within
 * one of the same schema has only few, so that the value ends.
 */
function objectOf(schema: Schema, random: Random, lexicon: Lexicon, around: readonly Schema[]): Json {
  const required = (schema.required ?? []) as string[]
  const share = random.pick([10, 40, 80])
  const declared = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const optional = declared.filter(([name]) => !required.includes(name))
  const few = around.length < maxDepth ? random.pickSome(optional, 2) : []
  const chosen = around.includes(schema) ? few : optional.filter(() => random.chance(share))
  const known = declared.filter((one) => required.includes(one[0]) || chosen.includes(one))
  const others = schema.additionalProperties
  const keys = typeof others === 'object' || others === true ? random.pickSome(freeNames, 3) : []
  const freeProperties = keys.map((name) => [name, typeof others === 'object' ? others : {}] as const)
  const members = [...known, ...freeProperties].map(([name, part]) => ({
    name: JSON.stringify(name),
    value: valueOf(part as Schema, random, lexicon, [...around, schema]),
  }))
  return { kind: 'members', members }
}

/** Maximum objects around one of the same schema with optional properties. */
const maxDepth = 8

const freeNames = ['plan', 'seats', 'region', 'billing', 'crm']

function integerOf({ minimum, maximum }: Schema, random: Random): number {
  const min = typeof minimum === 'number' ? minimum : 0
  const max = typeof maximum === 'number' ? maximum : 5000
  return random.pick([min, max, min + random.below(Math.min(max - min, 5000) + 1)])
}

/** Generates a valid text for the schema, from its format, pattern or examples, or from words. */
export function textOf(schema: Schema, random: Random, lexicon: Lexicon): string {
  const { format, pattern, maxLength, examples } = schema
  const [, prefix] = /^\^([a-z]{3})_\[0-9a-f\]\{32\}\$$/.exec(String(pattern)) ?? []
  if (prefix !== undefined) return random.pick(lexicon.ids.get(prefix) ?? [`${prefix}_${'0'.repeat(32)}`])
  if (typeof format === 'string') return formatText(format, random, lexicon)
  if (Array.isArray(examples) && random.chance(pattern === undefined ? 95 : 100)) return String(random.pick(examples))
  const text = random
    .pickSome(lexicon.words, 1 + random.below(3))
    .concat(random.chance(50) ? String(random.below(1000)) : [])
    .join(' ')
  if (typeof pattern === 'string') return ['12.5', 'a', text].find((one) => new RegExp(pattern).test(one)) ?? text
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}

function formatText(format: string, random: Random, { words, domain }: Lexicon): string {
  const word = random
    .pick(words)
    .normalize('NFKD')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()
  const formats: Record<string, () => string> = {
    email: () => `${word || 'a'}.${random.below(300)}@${domain}`,
    phone: () => `+4930${1_000_000 + random.below(1000)}`,
    uri: () => `https://www.${domain}/${word}${random.pick(['', '?a='])}${random.below(100)}`,
    hostname: () => `${word || 'a'}-${random.below(100)}.example.com`,
    'time-zone': () => random.pick(['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'UTC']),
    'country-code': () => random.pick(['DE', 'US', 'JP', 'BR']),
    'year-month': () => random.pick(['2019-12', '2020-01', '2024-05']),
    date: () => random.pick(['2026-11-21', '2024-02-29', '1999-12-31']),
    'date-time': () => random.pick(['2026-11-21T09:30:00.000Z', '2024-02-29T23:59:59Z', '1999-12-31T12:00:00+02:00']),
  }
  return formats[format]?.() ?? word
}

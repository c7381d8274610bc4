import type { JsonObject, JsonValue } from '../platform/model/json.ts'
import type { Normalized } from '../platform/model/normalizers.ts'
import { stringList, text } from '../platform/records/declare/fields.ts'
import { document } from '../platform/records/declare/object-fields.ts'
import { bodyShapeOf } from '../platform/records/request/body.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import { entryKinds, waysFor, weekDays } from './kinds.ts'

const waysSchema = closedObject(
  Object.fromEntries(
    entryKinds.map((kind) => [
      kind,
      { type: 'array', items: { type: 'string', enum: waysFor(kind) }, uniqueItems: true },
    ]),
  ),
)

/** `HH:MM` of a day. */
const timeOfDay = /^([01][0-9]|2[0-3]):[0-5][0-9]$/

export const settingsSchema = closedObject({
  ways: {
    ...waysSchema,
    description:
      'How you hear of each kind: `inbox` shows an entry, `digest` is a mail of many entries at `digestAt`, `mail` is sent at once, `push` goes to your browsers. Without any, there is no entry.',
  },
  digestAt: { type: 'string', pattern: timeOfDay.source, description: 'When the digest is sent, in your time zone.' },
  digestDays: {
    type: 'array',
    items: { type: 'string', enum: weekDays },
    description: 'The days on which it is sent.',
  },
})

/** Kinds whose ways are null get the default ones again; kinds that are missing stay as they are. */
function normalizeWays(value: JsonValue): Normalized {
  const chosen = Object.entries(value as JsonObject)
  for (const [kind, ways] of chosen) {
    const known = entryKinds.find((one) => one === kind)
    if (!known) return { error: `unknown kind ${JSON.stringify(kind)}; expected ${entryKinds.join(', ')}` }
    const allowed: readonly string[] = waysFor(known)
    const isValid = ways === null || (Array.isArray(ways) && ways.every((way) => allowed.includes(String(way))))
    if (!isValid) return { error: `${known}: expected a list of ${allowed.join(', ')}, or null for the default` }
  }
  return {
    value: Object.fromEntries(chosen.map(([kind, ways]) => [kind, Array.isArray(ways) ? [...new Set(ways)] : null])),
  }
}

const normalizeDays = (value: JsonValue): Normalized => {
  const days = value as string[]
  const other = days.find((day) => !weekDays.some((known) => known === day))
  return other === undefined
    ? { value: weekDays.filter((day) => days.includes(day)) }
    : { error: `unknown day ${JSON.stringify(other)}; expected ${weekDays.join(', ')}` }
}

export const settingsShape = bodyShapeOf({
  ways: {
    ...document({
      label: 'Ways',
      description: 'By kind; null for the default ways. Kinds that are not sent stay as they are',
      nullable: false,
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          entryKinds.map((kind) => [kind, { type: ['array', 'null'], items: { type: 'string', enum: waysFor(kind) } }]),
        ),
        additionalProperties: false,
      },
    }),
    normalize: normalizeWays,
  },
  digestAt: {
    ...text({ label: 'Time of the digest', description: '`HH:MM` in your time zone', nullable: false }),
    schema: { type: 'string', pattern: timeOfDay.source, examples: ['08:00'] },
    normalize: (value: JsonValue): Normalized =>
      timeOfDay.test(String(value)) ? { value } : { error: 'expected a time of day, such as "08:00"' },
  },
  digestDays: {
    ...stringList({
      label: 'Days of the digest',
      description: 'Names of week days, such as `monday`',
      nullable: false,
    }),
    normalize: normalizeDays,
  },
})

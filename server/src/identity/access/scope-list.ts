import { invalidBody } from '../../platform/model/errors.ts'
import { stringList } from '../../platform/records/declare/fields.ts'
import type { Normalized } from '../../platform/model/normalizers.ts'
import { parseScope } from '../../platform/model/scopes.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** The scopes of a key or a role, in full form. */
export function scopeList({ description }: { description: string }) {
  const list = stringList({ label: 'Scopes', description, required: true, max: 200 })
  return {
    ...list,
    schema: { ...list.schema, examples: [['urn:service:contact:list:read']] },
    normalize: (value: JsonValue): Normalized =>
      Array.isArray(value) && value.length === 0
        ? { error: 'expected at least one scope' }
        : normalizeList(value, (item) => parseScope(item) ?? invalidScope),
  }
}

const invalidScope = {
  error: 'is not a scope; see GET /v5/scopes for all scopes and wildcards, such as urn:service:contact:*:read',
}

/** Normalizes each item and removes duplicates; or the first error, with its item. */
export function normalizeList(value: JsonValue, read: (item: string) => string | { error: string }): Normalized {
  const found = (Array.isArray(value) ? value : []).map((item) => ({ word: item, result: read(String(item)) }))
  for (const { word: item, result } of found) {
    if (typeof result !== 'string') return { error: `"${String(item).slice(0, 100)}" ${result.error}` }
  }
  return { value: [...new Set(found.map(({ result }) => String(result)))] }
}

/** Whether any route of the service needs a scope that this one covers. */
export type IsNeeded = (scope: string) => boolean

/** A scope that no route needs is most likely a typing error. Error: 422. */
export function assertNeeded({ scopes = [] }: JsonObject, isNeeded: IsNeeded): void {
  const errors = (scopes as string[])
    .filter((scope) => !isNeeded(scope))
    .map((scope) => ({ field: 'scopes', message: `no request needs ${scope}; see GET /v5/scopes for all scopes` }))
  if (errors.length > 0) throw invalidBody(errors)
}

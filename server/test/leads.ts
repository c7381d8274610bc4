import type { JsonValue } from '../src/platform/model/fields.ts'
import { type Lead, readPush } from '../src/resources/imports/payload/payload.ts'

/** The lead of a valid push. */
export function leadOf(payload: JsonValue, parameters: Record<string, JsonValue> = {}): Lead {
  const read = readPush(payload, parameters)
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return read.lead
}

/** The errors of an invalid push. */
export function faultsOf(payload: JsonValue): { field: string; message: string }[] {
  const read = readPush(payload, {})
  if ('lead' in read) throw new Error('The push was accepted.')
  return read.faults
}

import type { RecordData } from '../api/schema.ts'
import type { Property } from './property.ts'

/** A copy with a value at a property's path; for an embedded record, `shown` is that record. */
export function withValue(record: RecordData, property: Property, value: unknown, shown: unknown): RecordData {
  if (property.type === 'embedded')
    return { ...record, [property.field?.name ?? '']: value, [property.name]: shown ?? null }
  const [name = '', key] = property.name.split('.')
  if (key === undefined) return { ...record, [name]: value }
  return { ...record, [name]: { ...(record[name] as Record<string, unknown>), [key]: value } }
}

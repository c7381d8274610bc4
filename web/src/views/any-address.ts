import { addressListOf, type ResourceSchema } from '../api/schema.ts'
import { fieldProperty } from './columns.tsx'
import type { Property } from './property.ts'

const ofAny: Readonly<Record<string, { path: string; label: string }>> = {
  emails: { path: 'emails.address', label: 'Email (all addresses)' },
  phones: { path: 'phones.number', label: 'Phone (all numbers)' },
}

/** What filters test in lists of addresses, which have no column: all entries, in the ways of the primary one. */
export const anyAddresses = (resource: ResourceSchema): Property[] =>
  resource.fields.flatMap((field) => {
    const any = ofAny[addressListOf(resource, field.name) ?? '']
    if (!any) return []
    const { path, label } = any
    return [{ ...fieldProperty(field), name: path, filterBy: path, label, orderBy: undefined, isReadOnly: true }]
  })

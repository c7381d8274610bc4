import type { RecordData } from '../../api/schema.ts'

/** An entry of `emails` or `phones`. */
export interface Entry {
  address?: string
  number?: string
  kind: 'work' | 'personal' | 'mobile' | 'other' | null
  primary: boolean
  bouncedAt?: string | null
}

export type ListName = 'emails' | 'phones'

export const entriesOf = (record: RecordData, name: ListName): Entry[] => {
  const entries = record[name]
  return Array.isArray(entries) ? (entries as Entry[]) : []
}

export const textOf = ({ address, number }: Entry): string => address ?? number ?? ''

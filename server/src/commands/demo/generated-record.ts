import type { JsonObject } from '../../platform/model/fields.ts'

/** A record that was made up: as the API shows it, with what callers never see. */
export interface GeneratedRecord {
  /** By field; ids with their prefix. */
  values: JsonObject
  /** The hidden columns. */
  hidden: Record<string, string | null>
  revision: number
}

/** A contact with what belongs to it. */
export interface GeneratedPerson {
  contact: GeneratedRecord
  /** The person behind it, where no contact before it was of the same one. */
  root: { id: string; emailKey: string | null; createdAt: string } | undefined
  jobs: readonly GeneratedRecord[]
  notes: readonly GeneratedRecord[]
}

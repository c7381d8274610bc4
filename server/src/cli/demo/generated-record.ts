import type { JsonObject } from '../../platform/model/json.ts'

/** A generated record: as the API shows it, with its hidden columns. */
export interface GeneratedRecord {
  /** By field. Ids have their prefix. */
  values: JsonObject
  hidden: Record<string, string | null>
  revision: number
}

/** A contact with its related records. */
export interface GeneratedPerson {
  contact: GeneratedRecord
  /** The person behind the contact; undefined if an earlier contact has created it. */
  root: { id: string; emailKey: string | null; createdAt: string } | undefined
  jobs: readonly GeneratedRecord[]
  notes: readonly GeneratedRecord[]
  tasks: readonly GeneratedRecord[]
}

/** A company with its related records. */
export interface GeneratedCompany {
  company: GeneratedRecord
  notes: readonly GeneratedRecord[]
  tasks: readonly GeneratedRecord[]
}

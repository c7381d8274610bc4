import type { Transaction } from '../../database/database.ts'
import type { Resource } from './define.ts'
import type { Sql } from '../../model/sql.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

/** `values` come from a caller, parsed by `parseBody`; `columns` from the service (`now`: the transaction's time). */
export type Change =
  | {
      kind: 'create'
      /** The new record's uuid, if others in the same transaction reference it; otherwise generated. */
      id?: string
      values: JsonObject
      columns?: Record<string, JsonValue>
      origin?: Origin
    }
  | {
      kind: 'update'
      id: string
      values: JsonObject
      columns?: ColumnsOf
      /** Revisions that the caller allows (If-Match); any if absent. */
      revisions?: readonly number[] | undefined
      /** Deletes the record, or restores a deleted one. */
      lifecycle?: 'delete' | 'restore'
      origin?: Origin
    }

/** The row of an import (uuids) that makes a change, for the record's history. */
export interface Origin {
  importId: string
  rowId: string
}

/** Columns to set, computed from the current record. */
export type ColumnsOf = (before: JsonObject) => Record<string, JsonValue>

/** The result of a change: the record before and after, and its text. */
export interface WrittenRecord {
  id: string
  before: JsonObject | undefined
  after: JsonObject
  text: string
  revision: number
}

export interface PendingChange {
  id: string
  before: JsonObject | undefined
  /** The changed fields, by name. */
  values: JsonObject
  columns: Record<string, JsonValue>
  revision: number
  origin: Origin | undefined
  /** The records that the values of its custom properties name. */
  named: readonly NamedRecord[]
}

/** A resource whose records custom properties can name; by default, they are in its own table, by `id`. */
export interface Referable {
  resource: Resource
  table?: string
  key?: string
}

export type LookUp = (transaction: Transaction, pending: readonly PendingChange[]) => Promise<ReadonlySet<string>>

/** A store's additions to the standard write. They get the whole set, so that they can use set statements too. */
export interface WriteSteps {
  /** Reads what the changes name, together with the changed records. */
  readAhead?: (transaction: Transaction, changes: readonly Change[]) => Promise<void>
  /** Sets columns from other tables or records, before the table is written. */
  beforeWrite?: (
    transaction: Transaction,
    pending: readonly PendingChange[],
    parentId: string | undefined,
  ) => Promise<void>
  /** True if a write may change other records of its parent: a lock on the parent serializes its writers. */
  changesSiblings?: true
  /** Updates other tables in the same round trip as the write, and before it. */
  alongWrite?: (transaction: Transaction, pending: readonly PendingChange[]) => void
  /** The same, after it. */
  followWrite?: (transaction: Transaction, pending: readonly PendingChange[]) => void
  /** Updates other tables once the table is known to be written, which takes another round trip. */
  afterWrite?: (
    transaction: Transaction,
    written: readonly WrittenRecord[],
    pending: readonly PendingChange[],
  ) => Promise<void>
  /** How to create a record with a single statement instead. */
  singleStatement?: SingleStatementCreate
  /** How to look up and lock the records that a field names, by the field: those (uuids) that exist. Default: by id. */
  lookUps?: Readonly<Record<string, LookUp>>
  /** The resources whose records its custom properties can name, by name. */
  referable?: Readonly<Record<string, Referable>>
}

/** What a new record needs from other tables, as parts of the statement that creates it. */
export interface SingleStatementCreate {
  /** True if nothing else has to be written with the record. */
  applies: (transaction: Transaction, pending: PendingChange) => boolean
  /** True if what a person enters is stored as edits (`storeEdits`). */
  storesEdits?: boolean
  /** Sets additional columns of the recordset `input`, before it is sent. */
  prepare?: (transaction: Transaction, pending: PendingChange) => void
  /** Common table expressions between `input` and the record. */
  tables?: (organization: Sql) => Sql
  /** Without it, nothing is created, and the create is repeated with several statements. */
  condition?: Sql
  /** The values of columns that do not come from `input` alone; of references, where the record has none. */
  columns?: Readonly<Record<string, (organization: Sql) => Sql>>
}

/** A record as a writing statement returns it. */
export interface StoredRow {
  id: string
  text: string
  /** The record with all properties, if `text` is a narrower view. */
  whole: string | null
  revision: number
}

export interface CurrentRow extends StoredRow {
  /** All properties. */
  record: JsonObject
  /** References that read as null because the referenced record is deleted. */
  dangling: readonly string[]
}

export interface NamedRecord {
  /** The path of the value in the body. */
  path: string
  label: string
  resource: string
  /** The id in the form of the API. */
  id: string
}

import { raw, sql } from '../platform/model/sql.ts'
import type { Computation } from '../platform/records/declare/field.ts'
import { entryRecords } from './records.ts'

const cases = Object.entries(entryRecords).map(([name, { idPrefix }]) => `when '${name}' then '${idPrefix}_'`)

/** The id of the record of an entry, as callers see it. */
export const recordIdOf: Computation = (record) =>
  sql`(case ${record}.resource ${raw(cases.join(' '))} end || replace(${record}.record_id::text, '-', ''))`

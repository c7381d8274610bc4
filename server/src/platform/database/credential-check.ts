import type { Actor } from '../model/caller.ts'
import { prepared, type Sql, sql } from '../model/sql.ts'
import { CredentialChanged } from './failures.ts'

export type CredentialChecked<Row> = Row & { credential_live: boolean; result_present: boolean | null }

export const credentialCheck = (actor: Actor): Sql => prepared(sql`select ${actor.live} as live`)

/** The statement together with the credential check, in one round trip. */
export function withCredentialCheck(actor: Actor, statement: Sql): Sql {
  return sql`select credential.live as credential_live, result.* from (select ${actor.live} as live) credential
    left join (select true as result_present, statement.* from (${statement}) statement) result on true`
}

/** Whether the credential of the enclosing statement is valid. */
export const credentialIsLive = sql`(select live from credential)`

/** The same for a writing statement, which has to start with its common table expressions. */
export function writeWithCredentialCheck(actor: Actor, { tables, result }: { tables: Sql; result: Sql }): Sql {
  return sql`with credential as materialized (select ${actor.live} as live), ${scoped(tables)}
    select credential.live as credential_live, result.* from credential
    left join (select true as result_present, result.* from (${result}) result) result on true`
}

/** The result of either. Throws `CredentialChanged`. */
export function checkedRows<Row extends object>(rows: CredentialChecked<Row>[]): Row[] {
  if (!rows[0]?.credential_live) throw new CredentialChanged()
  return rows.filter((row) => row.result_present)
}

/** The statement, which must reference the organization. */
export function scoped(statement: Sql): Sql {
  if (!statement.scoped) throw new Error('A statement of an organization must contain it (`db.organization`).')
  return statement
}

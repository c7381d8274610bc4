import type { Connection } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { notFound } from '../../platform/resource/read.ts'
import { standardStore } from '../../platform/resource/routes.ts'
import { mails } from './resource.ts'

/** Read alone: the queue is what adds to it. */
export const mailStore = standardStore(mails)

/**
 * The sealed body of the organization's mail (uuid); null where there is none (any more). The mail of a person who has left
 * is not shown, nor of one who is in another organization too by now: its link may open that one. Error: 404.
 */
export async function readSealedBody(db: Connection, id: string): Promise<Buffer | null> {
  const [row] = await db.query<{ bodySealed: Buffer | null }>(sql`
    select body_sealed as "bodySealed" from mails
    where organization_id = ${db.organization} and id = ${id}::uuid
      and (user_id is null or array[organization_id] = array(
        select members.organization_id from members where members.user_id = mails.user_id))`)
  if (!row) throw notFound(mails)
  return row.bodySealed
}

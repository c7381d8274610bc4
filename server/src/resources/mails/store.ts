import type { Connection } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { ApiError } from '../../platform/http/errors.ts'
import { notFound } from '../../platform/resource/read.ts'
import { standardStore } from '../../platform/resource/routes.ts'
import { mails } from './resource.ts'

/** Read alone: the queue is what adds to it. */
export const mailStore = standardStore(mails)

/**
 * The sealed body of the organization's mail (uuid). The mail of a person who has left is not shown, nor of one who is in
 * another organization too by now: its link may open that one. Error: 404, which says why there is none.
 */
export async function readSealedBody(db: Connection, id: string): Promise<Buffer> {
  const [row] = await db.query<{ bodySealed: Buffer | null; isLost: boolean }>(sql`
    select body_sealed as "bodySealed", status in ('kept', 'failed') and composed_at is not null as "isLost" from mails
    where organization_id = ${db.organization} and id = ${id}::uuid
      and (user_id is null or array[organization_id] = array(
        select members.organization_id from members where members.user_id = mails.user_id))`)
  if (!row) throw notFound(mails)
  if (row.bodySealed) return row.bodySealed
  throw new ApiError('not_found', row.isLost ? lost : 'This mail has no content: it is not composed yet, or was sent.')
}

/** After `restore --new-secret`. */
const lost =
  'What this mail said is lost with the secret that it was encrypted under. Have it sent anew: ask for the link, or send the invitation, once more.'

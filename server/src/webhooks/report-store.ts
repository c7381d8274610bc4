import { queueMail } from '../identity/mails/store.ts'
import type { Transaction } from '../platform/database/database.ts'
import { sql } from '../platform/model/sql.ts'
import type { StandardStore } from '../platform/records/write/store.ts'
import type { Lease } from './dispatch-store.ts'
import type { Report } from './session.ts'

/** Mails the report, and disables the webhook first if it must be. */
export async function storeReport(
  store: StandardStore,
  transaction: Transaction,
  { webhookId, organizationId }: Lease,
  { signal, isGone, target }: Report,
): Promise<void> {
  if (signal === 'disable') {
    const columns = () => ({ status: 'disabled', status_reason: isGone ? 'gone' : 'failing' })
    await store.write(transaction, [{ kind: 'update', id: webhookId, values: {}, columns }])
  }
  const what = signal === 'disable' ? (isGone ? 'gone' : 'disabled') : signal
  const facts = { what, host: new URL(target.url).host } as const
  for (const { id, email } of await findRecipients(transaction, target.createdBy))
    await queueMail(transaction, { kind: 'webhook', organizationId, recipient: email, userId: id, facts })
}

/** The person who created the webhook (uuid), if they are still a member, otherwise the owners. */
const findRecipients = (
  { organization, query }: Transaction,
  createdBy: string,
): Promise<{ id: string; email: string }[]> =>
  query(sql`
    with involved as (
      select users.id, users.email, members.user_id = ${createdBy}::uuid as is_creator from members
      join users on users.id = members.user_id
      where members.organization_id = ${organization} and (members.user_id = ${createdBy}::uuid or members.role = 'owner'))
    select id, email from involved where is_creator or not exists (select from involved where is_creator)`)

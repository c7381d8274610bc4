import { readMembers } from '../../identity/access/readers-store.ts'
import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { pageOf, plainTitle } from '../pages.ts'
import { entryRecords } from '../records.ts'
import { isGroup, sentenceOf } from '../sentences.ts'
import { firstTitle, namedBy, readTitles } from '../titles-store.ts'
import { findUnread } from './entries-store.ts'
import type { ClaimedMessage } from './messages-store.ts'
import type { Notification } from './send.ts'

/** What to show now; undefined if the person has read it meanwhile, has left, or does not see the record any more. */
export const composeNotification = (
  database: Database,
  { organizationId, userId, entryId, language }: ClaimedMessage,
): Promise<Notification | undefined> =>
  database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const entry = await findUnread(transaction, { userId, entryId })
    const [member] = entry ? await readMembers(transaction, [userId]) : []
    if (!entry || !member) return undefined
    const { reader, sees } = member
    const naming = { reader, sees: (resource: typeof entry.resource) => sees(entryRecords[resource]) }
    const title = firstTitle(await readTitles(transaction, naming, namedBy([entry])), entry.recordIds)
    if (title === undefined) return undefined
    const [named, says] = [plainTitle(title), sentenceOf(entry, language)]
    return {
      ...(isGroup(entry) ? { title: says, body: `${named} …` } : { title: named, body: says }),
      language,
      path: pageOf(entry, userId),
      tag: entryId.replaceAll('-', ''),
      isUrgent: entry.kind === 'reminder',
    }
  })

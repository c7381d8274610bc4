import { type MemberReader, readMembers } from '../../identity/access/readers-store.ts'
import { queueMail } from '../../identity/mails/store.ts'
import { findLocalDays } from '../../identity/users/store.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import type { Language } from '../../platform/model/languages.ts'
import { inboxPage, pageOf, plainTitle, shownId } from '../pages.ts'
import { entryRecords, type EntryResource } from '../records.ts'
import { isGroup, sentenceOf } from '../sentences.ts'
import { readSettings } from '../settings-store.ts'
import { firstTitle, namedBy, readTitles } from '../titles-store.ts'
import { lastSlot, type Slot } from './slot.ts'
import { claimDay, findPeople, takeEntries, type Waiting } from './store.ts'

/** Entries in a mail; it says how many others there are. */
const maxLines = 30

/**
 * Mails the digests of the organization (uuid) that are due at this time. The mail, the day and the marks of the entries are
 * stored in one transaction for each person, so that one process sends each digest, whenever another one stops. Resolves to
 * how many mails were queued.
 */
export async function sendDigests(
  database: Database,
  organizationId: string,
  { now, defaultLanguage }: { now: Date; defaultLanguage: Language },
): Promise<number> {
  const actor = serviceActor('maintenance', organizationId)
  const due = await database.transaction(actor, (transaction) => findDue(transaction, now))
  let queued = 0
  for (const { userId, slot } of due)
    if (await database.transaction(actor, (transaction) => sendDigest(transaction, { userId, slot }, defaultLanguage)))
      queued += 1
  return queued
}

interface Due {
  userId: string
  slot: Slot
}

async function findDue(transaction: Transaction, now: Date): Promise<Due[]> {
  const people = await findPeople(transaction)
  const zones = await findLocalDays(
    transaction,
    people.map(({ userId }) => ({ id: userId, day: null, userId })),
  )
  const due: Due[] = []
  for (const person of people) {
    const { digestAt, digestDays } = await readSettings(transaction, person.userId)
    const timeZone = zones.get(person.userId)?.timeZone ?? 'UTC'
    const slot = lastSlot({ digestAt, digestDays, timeZone }, now)
    if (slot && isDue(person, slot)) due.push({ userId: person.userId, slot })
  }
  return due
}

/** What is newer than the slot waits for the next one. */
const isDue = ({ oldestAt, lastDay }: Waiting, { day, at }: Slot): boolean =>
  oldestAt <= at && (lastDay === null || lastDay < day)

async function sendDigest(
  transaction: Transaction,
  { userId, slot }: Due,
  defaultLanguage: Language,
): Promise<boolean> {
  if (!(await claimDay(transaction, userId, slot))) return false
  const entries = await takeEntries(transaction, userId, slot)
  const [member] = await readMembers(transaction, [userId])
  if (!member || entries.length === 0) return false
  const language = member.language ?? defaultLanguage
  const titles = await readTitles(transaction, namingOf(member), namedBy(entries))
  // Those that the person does not see any more are left out.
  const lines = entries.flatMap((entry) => {
    const title = firstTitle(titles, entry.recordIds)
    if (title === undefined) return []
    const says = sentenceOf(entry, language)
    // A group names nobody.
    const [shown, record] = isGroup(entry) ? ['', ''] : [plainTitle(title), shownId(entry)]
    return [{ line: { says, title: shown, path: pageOf(entry, userId) }, record }]
  })
  if (lines.length === 0) return false
  const named = lines.slice(0, maxLines)
  const facts = {
    language,
    count: String(lines.length),
    lines: JSON.stringify(named.map(({ line }) => line)),
    records: named
      .map(({ record }) => record)
      .filter((id) => id !== '')
      .join(' '),
    path: inboxPage,
    day: slot.day,
  }
  const { organizationId } = transaction
  await queueMail(transaction, { kind: 'digest', organizationId, recipient: member.email, userId, facts })
  return true
}

const namingOf = ({ reader, sees }: MemberReader) => ({
  reader,
  sees: (resource: EntryResource) => sees(entryRecords[resource]),
})

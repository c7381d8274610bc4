import type { Actor } from '../../platform/model/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isOneOf, prepared, preparedForOne, raw, sql } from '../../platform/model/sql.ts'
import { hasEdits, storeEdits } from '../../platform/records/write/edits.ts'
import { syncExternalIds, touchesExternalIds } from '../../platform/records/write/external-ids.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { assignTeams } from '../../identity/teams/store.ts'
import { referable } from '../properties/store.ts'
import { contacts, type ContactSource, teamContacts } from './resource.ts'
import { leaveRootContacts } from './retention-store.ts'
import type { PendingChange, WriteSteps } from '../../platform/records/declare/changes.ts'

const steps: WriteSteps = {
  referable,
  async beforeWrite(transaction, pending) {
    for (const { before, columns } of pending) if (!before) columns.source = sourceOf(transaction.actor)
    const left = pending.filter(({ before, columns }) => before && 'email_key' in columns).map(({ id }) => id)
    // Sent together.
    await Promise.all([
      assignTeams(transaction, pending),
      leaveRootContacts(transaction, left),
      assignRootContacts(transaction, pending),
    ])
  },
  async afterWrite(transaction, written, pending) {
    await syncExternalIds(transaction, contacts, written, pending)
    await storeEdits(transaction, contacts, pending, ['tags', 'externalIds'])
  },
  singleStatement: {
    applies: (transaction, pending) => !touchesExternalIds(pending) && !hasEdits(transaction.actor, pending),
    // Id for a new root contact. If one with this email exists, it is locked instead, so that no purge deletes it
    // meanwhile.
    prepare: ({ actor }, { columns }) => {
      columns.root_contact_id = newId()
      columns.source = sourceOf(actor)
    },
    tables: (organization) => sql`person as (
      insert into root_contacts (organization_id, id, email_key)
      select ${organization}, root_contact_id, email_key from input
      on conflict (organization_id, email_key) do update set email_key = excluded.email_key returning id)`,
    columns: {
      root_contact_id: () => sql`(select id from person)`,
      source: () => sql`input.source`,
      team_id: (organization) => sql`(select id from teams where organization_id = ${organization} and is_default)`,
    },
  },
}

const sources: Partial<Record<Actor['kind'], ContactSource>> = { session: 'person', key: 'api_key', work: 'import' }

const sourceOf = ({ kind }: Actor): ContactSource | null => sources[kind] ?? null

export const contactStore = standardStore(contacts, steps)

/** The same records and rules through a team. */
export const teamContactStore = standardStore(teamContacts, steps)

/**
 * Assigns the root contact of each contact: one per distinct address of the organization, so that the contacts of one
 * person in two teams share it. A contact without an address gets its own.
 */
async function assignRootContacts(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const changed = pending.filter(({ before, columns }) => !before || 'email_key' in columns)
  if (changed.length === 0) return
  const keys = [...new Set(changed.flatMap(({ columns }) => columns.email_key ?? []))].map(String).sort()
  const changedWithoutEmail = changed.filter(({ columns }) => typeof columns.email_key !== 'string')
  const rootsByEmail: RootContact[] = keys.map((key) => ({ id: newId(), email_key: key }))
  const rootsWithoutEmail = changedWithoutEmail.map(() => ({ id: newId(), email_key: null }))
  const byKey = new Map<string, string>()
  // A purge may delete a root contact between the two statements; it is then created again.
  for (let wanted = [...rootsByEmail, ...rootsWithoutEmail]; wanted.length > 0;) {
    for (const { id, email_key: key } of await ensureRootContacts(transaction, wanted)) byKey.set(key, id)
    wanted = rootsByEmail.filter(({ email_key: key }) => !byKey.has(String(key)))
  }
  for (const one of changed) {
    const { email_key: key } = one.columns
    const id = typeof key === 'string' ? byKey.get(key) : rootsWithoutEmail.shift()?.id
    if (id === undefined) throw new Error('every contact has a person')
    one.values.rootContactId = encodeId('rcn', id)
  }
}

interface RootContact {
  id: string
  email_key: string | null
}

/** Creates the missing root contacts and returns the current ones with an address. */
async function ensureRootContacts(
  transaction: Transaction,
  roots: readonly RootContact[],
): Promise<{ id: string; email_key: string }[]> {
  const keys = roots.flatMap(({ email_key: key }) => key ?? [])
  // Both statements are sent without waiting in between.
  const [, known] = await Promise.all([
    transaction.query(
      prepared(sql`
      insert into root_contacts (organization_id, id, email_key)
      select ${transaction.organization}, id, email_key
      from jsonb_to_recordset(${JSON.stringify(roots)}::jsonb) as root(id uuid, email_key text)
      on conflict do nothing returning id`),
    ),
    keys.length === 0
      ? []
      : transaction.query<{ id: string; email_key: string }>(
          preparedForOne(
            keys,
            sql`
          select id, email_key from root_contacts
          where organization_id = ${transaction.organization} and ${isOneOf(raw('email_key'), keys, 'text')}`,
          ),
        ),
  ])
  return known
}

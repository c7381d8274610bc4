import type { Actor } from '../../platform/model/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isOneOf, prepared, preparedForOne, raw, sql } from '../../platform/model/sql.ts'
import { storeEdits } from '../../platform/records/write/edits.ts'
import { syncExternalIds, touchesExternalIds } from '../../platform/records/write/external-ids.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { assignTeams, findDefaultTeam } from '../../identity/teams/store.ts'
import { referable } from '../properties/store.ts'
import { furtherAfter, markFurther, movesAddresses, syncFurther, touchesFurther } from './identities-store.ts'
import { contacts, type ContactSource, teamContacts } from './resource.ts'
import { leaveRootContacts } from './retention-store.ts'
import type { PendingChange, SingleStatementCreate, WriteSteps } from '../../platform/records/declare/changes.ts'

function steps(): WriteSteps {
  let defaultTeam: Promise<string> | undefined
  let roots: Promise<RootContact[]> | undefined
  /** Primary addresses that are, or were, further ones of other contacts. */
  const shared = new Set<string>()
  const ensure = async (transaction: Transaction, emails: readonly string[]) => {
    const found = await ensureRootContacts(transaction, emails)
    for (const { email_key: key, is_further: isFurther } of found) if (key !== null && isFurther) shared.add(key)
    return found
  }
  return {
    referable,
    async readAhead(transaction, changes) {
      const created = changes.filter(({ kind }) => kind === 'create')
      const withoutTeam = created.filter(({ values }) => (values.teamId ?? null) === null)
      if (withoutTeam.length > 0) defaultTeam = findDefaultTeam(transaction)
      const emails = changes.flatMap(({ values: { email } }) => (typeof email === 'string' ? [emailKey(email)] : []))
      if (emails.length > 0) roots = ensure(transaction, emails)
      await Promise.all([defaultTeam, roots])
    },
    async beforeWrite(transaction, pending) {
      for (const { before, columns } of pending) if (!before) columns.source = sourceOf(transaction.actor)
      const left = pending.filter(({ before, columns }) => before && ('email_key' in columns || 'emails' in columns))
      leaveRootContacts(
        transaction,
        left.map(({ id }) => id),
      )
      const moved = movedKeys(pending)
      // Sent together.
      await Promise.all([
        assignTeams(transaction, pending, () => (defaultTeam ??= findDefaultTeam(transaction))),
        assignRootContacts(pending, {
          known: await roots,
          ensure: (keys) => ensure(transaction, keys),
          insert: (people) => insertRootContacts(transaction, people),
        }),
        moved.length > 0 ? ensure(transaction, moved) : undefined,
      ])
      markFurther(transaction, pending.filter(touchesFurther).flatMap(furtherAfter))
    },
    followWrite(transaction, pending) {
      syncExternalIds(transaction, contacts, pending)
      syncFurther(transaction, pending, [...shared])
      storeEdits(transaction, contacts, pending, ['tags', 'externalIds'])
    },
    singleStatement,
  }
}

const singleStatement: SingleStatementCreate = {
  applies: (_, pending) => !touchesExternalIds(pending) && furtherAfter(pending).length === 0,
  storesEdits: true,
  // Id for a new root contact. If one with this email exists, it is locked instead, so that no purge deletes it
  // meanwhile.
  prepare: ({ actor }, { columns }) => {
    columns.root_contact_id = newId()
    columns.source = sourceOf(actor)
  },
  tables: (organization) => sql`person as (
      insert into root_contacts (organization_id, id, email_key)
      select ${organization}, root_contact_id, email_key from input
      on conflict (organization_id, email_key) do update set email_key = excluded.email_key returning id, is_further)`,
  // The statement cannot see who took it as a further address while it waited for the row.
  condition: sql`not (select is_further from person)`,
  columns: {
    root_contact_id: () => sql`(select id from person)`,
    source: () => sql`input.source`,
    team_id: (organization) => sql`(select id from teams where organization_id = ${organization} and is_default)`,
  },
}

const sources: Partial<Record<Actor['kind'], ContactSource>> = { session: 'person', key: 'api_key', work: 'import' }

const sourceOf = ({ kind }: Actor): ContactSource | null => sources[kind] ?? null

export const contactStore = standardStore(contacts, steps)

/** The same records and rules through a team. */
export const teamContactStore = standardStore(teamContacts, steps)

/**
 * Assigns the root contact of each contact: one per distinct address of the organization, so that the contacts of one
 * person in two teams share it. A contact without an address gets its own. `known`: those that exist.
 */
async function assignRootContacts(
  pending: readonly PendingChange[],
  { known = [], ensure, insert }: Roots,
): Promise<void> {
  const changed = pending.filter(({ before, columns }) => !before || 'email_key' in columns)
  if (changed.length === 0) return
  const changedWithoutEmail = changed.filter(({ columns }) => typeof columns.email_key !== 'string')
  const rootsWithoutEmail = changedWithoutEmail.map(() => ({ id: newId(), email_key: null }))
  if (rootsWithoutEmail.length > 0) insert(rootsWithoutEmail)
  const keys = new Set(changed.flatMap(({ columns }) => columns.email_key ?? []).map(String))
  const byKey = new Map(known.map(({ id, email_key: key }) => [key, id]))
  const missing = () => [...keys].filter((key) => !byKey.has(key))
  // A purge may delete a root contact between the two statements; it is then created again.
  while (missing().length > 0) for (const { id, email_key: key } of await ensure(missing())) byKey.set(key, id)
  for (const one of changed) {
    const { email_key: key } = one.columns
    const id = typeof key === 'string' ? byKey.get(key) : rootsWithoutEmail.shift()?.id
    if (id === undefined) throw new Error('every contact has a person')
    one.values.rootContactId = encodeId('rcn', id)
  }
}

interface Roots {
  known: readonly RootContact[] | undefined
  ensure: (keys: readonly string[]) => Promise<RootContact[]>
  insert: (people: readonly Pick<RootContact, 'id' | 'email_key'>[]) => void
}

interface RootContact {
  id: string
  email_key: string | null
  is_further: boolean
}

/** The primary addresses of contacts that are restored or get another team. */
const movedKeys = (pending: readonly PendingChange[]): string[] =>
  pending.flatMap((change) => {
    const { before, columns } = change
    if (!before || !movesAddresses(change) || (columns.deleted_at ?? null) !== null || 'email_key' in columns) return []
    return typeof before.email === 'string' ? [emailKey(before.email)] : []
  })

/**
 * Creates the missing root contacts of these addresses, and returns those that exist now. They are locked: another
 * change that gives a contact one of the addresses waits (`identities-store.ts`).
 */
function ensureRootContacts(transaction: Transaction, emails: readonly string[]): Promise<RootContact[]> {
  const keys = [...new Set(emails)].sort()
  // Both statements are sent without waiting in between.
  insertRootContacts(
    transaction,
    keys.map((key) => ({ id: newId(), email_key: key })),
  )
  return transaction.query<RootContact>(
    preparedForOne(
      keys,
      sql`
        select id, email_key, is_further from root_contacts
        where organization_id = ${transaction.organization} and ${isOneOf(raw('email_key'), keys, 'text')}
        order by email_key for no key update`,
    ),
  )
}

function insertRootContacts(transaction: Transaction, roots: readonly Pick<RootContact, 'id' | 'email_key'>[]): void {
  transaction.send(
    prepared(sql`
      insert into root_contacts (organization_id, id, email_key)
      select ${transaction.organization}, id, email_key
      from jsonb_to_recordset(${JSON.stringify(roots)}::jsonb) as root(id uuid, email_key text)
      on conflict do nothing returning id`),
  )
}

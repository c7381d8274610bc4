import pg from 'pg'
import { renderAllSql } from '../../server/src/platform/records/rendering/renderings.ts'
import { companies } from '../../server/src/crm/companies/resource.ts'
import { contacts as contactResource } from '../../server/src/crm/contacts/resource.ts'
import { clusterUser } from '../../server/src/platform/operations/embedded-postgres/cluster.ts'
import { connect } from '../../server/src/platform/database/connect.ts'
import { formatCount, startProgress } from '../../server/src/cli/progress.ts'
import { copyRows, withoutIndexes } from './copy.ts'
import { fillDeals } from './deals-data.ts'
import { Random } from './people.ts'
import { type TableRow, makeCompany, makeContact, type Owner, uuid } from './records.ts'

/** The data that fills the tables, the same in every run. */
export interface DataOptions {
  client: pg.Client
  connection: pg.ClientConfig
  contacts: number
  organizations: number
  /** The measured organization, with UUIDs; it has half of the contacts. */
  measured: { organizationId: string; userId: string; teamId: string }
  log: (line: string) => void
}

interface Share extends Owner {
  contacts: number
  companies: number
}

const contactsPerCompany = 20

/** Fills the tables, updates the statistics and writes everything to disk. */
export async function fill({ client, connection, contacts, organizations, measured, log }: DataOptions): Promise<void> {
  const startedAt = performance.now()
  const shares = sharesOf(contacts, organizations, measured)
  for (const share of shares.slice(1)) await insertOwner(client, share, measured.userId)
  await withoutIndexes(client, ['root_contacts', 'companies', 'contacts'], async () => {
    await copyRows(client, 'companies', columnsOf(makeCompany(new Random(1), 0)), companiesOf(shares))
    const progress = startProgress('Contacts', contacts, 'contacts')
    let done = 0
    const onRow = () => ++done % 1000 === 0 && progress.update(done)
    // Two at a time: computing the search column takes the database longer than everything else.
    await Promise.all([shares.slice(0, 1), shares.slice(1)].map((group) => copyContacts(connection, group, onRow)))
    progress.end('Building the indexes…')
    await client.query(`insert into root_contacts (organization_id, id, email_key)
      select organization_id, root_contact_id, email_key from contacts`)
  })
  const [own] = shares
  if (own) await fillDeals(client, own)
  // The service would do this in the background, during the measurements.
  for (const { organizationId } of shares) {
    for (const resource of [companies, contactResource]) {
      const { text, values } = renderAllSql(resource, organizationId).render()
      await client.query(text, values)
    }
  }
  const administrator = await connect(connection.connectionString ? connection : { ...connection, user: clusterUser })
  await administrator.query('vacuum analyze')
  // Otherwise it would slow down the first minutes.
  await administrator.query('checkpoint')
  await administrator.end()
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  log(`${formatCount(contacts)} contacts of ${organizations} organizations in ${seconds} s.`)
}

const columnsOf = (tableRow: TableRow): string[] => Object.keys(tableRow)

function* companiesOf(shares: readonly Share[]): Generator<readonly [string, TableRow]> {
  for (const { organizationId, number, companies } of shares) {
    const random = new Random(1000 + number)
    for (let index = 0; index < companies; index++) yield [organizationId, makeCompany(random, index)]
  }
}

async function copyContacts(connection: pg.ClientConfig, shares: readonly Share[], onRow: () => void): Promise<void> {
  const [first] = shares
  if (!first) return
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const columns = columnsOf(makeContact(new Random(1), first, 0, 1))
    await copyRows(client, 'contacts', columns, contactsOf(shares, onRow))
  } finally {
    await client.end()
  }
}

function* contactsOf(shares: readonly Share[], onRow: () => void): Generator<readonly [string, TableRow]> {
  for (const share of shares) {
    const random = new Random(1 + share.number)
    for (let index = 0; index < share.contacts; index++) {
      yield [share.organizationId, makeContact(random, share, index, share.companies)]
      onRow()
    }
  }
}

/** Half for the measured organization, and the rest in equal parts. */
export function sharesOf(contacts: number, organizations: number, measured: DataOptions['measured']): Share[] {
  const half = organizations > 1 ? Math.ceil(contacts / 2) : contacts
  const others = Array.from({ length: organizations - 1 }, (_, index) => ({
    organizationId: uuid(1, index + 1),
    teamId: uuid(2, index + 1),
    number: index + 1,
    contacts: Math.floor((contacts - half + index) / (organizations - 1)),
  }))
  const { organizationId, teamId } = measured
  return [{ organizationId, teamId, number: 0, contacts: half }, ...others].map((share) => {
    return { ...share, companies: Math.ceil(share.contacts / contactsPerCompany) }
  })
}

async function insertOwner(client: pg.Client, { organizationId, teamId, number }: Share, userId: string) {
  await client.query('insert into organizations (id, name, slug) values ($1, $2, $3)', [
    organizationId,
    `Organization ${number}`,
    `organization-${number}`,
  ])
  await client.query(
    `insert into teams (organization_id, id, name, is_default) values ($1, $2, 'Default team', true)`,
    [organizationId, teamId],
  )
  await client.query(`insert into members (organization_id, user_id, role) values ($1, $2, 'owner')`, [
    organizationId,
    userId,
  ])
  await client.query(
    'insert into team_members (organization_id, team_id, id) values ($1, $2, $3) on conflict do nothing',
    [organizationId, teamId, userId],
  )
}

/** Inserts of contacts numbered from `first` to below `end`, at the first company; one statement per table. */
export function insertsOf(owner: Owner, random: Random, { first, end }: { first: number; end: number }) {
  const rows = Array.from({ length: end - first }, (_, offset) => makeContact(random, owner, first + offset, 1))
  const roots = rows.map(({ root_contact_id: id = null, email_key = null }) => ({ id, email_key }))
  return [insertOf('root_contacts', owner, roots), insertOf('contacts', owner, rows)]
}

function insertOf(table: string, { organizationId }: Owner, rows: readonly TableRow[]) {
  const columns = columnsOf(rows[0] ?? {})
  const selected = columns.map((column) => `row.${column}`).join(', ')
  return {
    text: `insert into ${table} (organization_id, ${columns.join(', ')})
     select $1, ${selected} from jsonb_populate_recordset(null::${table}, $2) row`,
    values: [organizationId, JSON.stringify(rows)],
  }
}

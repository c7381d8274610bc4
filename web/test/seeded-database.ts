import { createSecretKey, randomBytes } from 'node:crypto'
import pg from 'pg'
import { fill } from '../../lab/bench/data.ts'
import { roleScopes } from '../../server/src/app.ts'
import { bootstrap } from '../../server/src/cli/bootstrap.ts'
import { createDemo } from '../../server/src/cli/demo/demo.ts'
import { hashPassword } from '../../server/src/identity/access/passwords.ts'
import { createTokens } from '../../server/src/identity/access/tokens.ts'
import { addMember } from '../../server/src/identity/members/store.ts'
import { insertUser } from '../../server/src/identity/users/store.ts'
import { Database } from '../../server/src/platform/database/database.ts'
import { newId, decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Secret } from '../../server/src/platform/secret/secret.ts'
import { createDatabaseFrom, testCluster, type TestDatabase } from '../../server/test/postgres.ts'

/** All databases of a run are copies of one template, so they share its secret. */
export const secret: Secret = createSecretKey(Buffer.alloc(32, 'the secret of the seeded database'))

export const password = 'violet engine tandem'

/** The accounts, in both organizations. */
export const people = {
  owner: { name: 'Ada Lovelace', email: 'ada@example.com' },
  member: { name: 'Grace Hopper', email: 'grace@example.com' },
  viewer: { name: 'Alan Turing', email: 'alan@example.com' },
} as const
export type Role = keyof typeof people

/**
 * One organization with 100,000 contacts and 5,000 companies for behaviour, and one with a few presentable records for
 * pictures.
 */
export const organizations = { large: 'Harbour Trading', small: 'Atelier Mistral' } as const
export type OrganizationName = keyof typeof organizations

/** The last day of the presentable records. */
export const demoDay = '2026-11-21'
export const contactCount = 100_000
const demoContacts = 240

/**
 * A copy of the seeded database. The first caller of a run seeds it, which takes ten times as long as copying; the
 * others wait.
 */
export async function createSeededDatabase(): Promise<TestDatabase> {
  const { host, port, user } = testCluster()
  const client = new pg.Client({ host, port, user, database: 'postgres' })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(1)')
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template])
    if (rowCount === 0) await makeTemplate(client)
    return await createDatabaseFrom(template)
  } finally {
    await client.end()
  }
}

const template = 'rapport_web_template'

async function makeTemplate(administrator: pg.Client): Promise<void> {
  // Under a temporary name until it is complete, so that an interrupted run leaves no incomplete template.
  const { connection } = await createDatabaseFrom(
    testCluster().template,
    `${template}_${randomBytes(4).toString('hex')}`,
  )
  const database = new Database({ connection, size: 4, limitConcurrency: true })
  try {
    await seed(database, connection)
  } finally {
    await database.close()
  }
  await administrator.query(`alter database ${connection.database} rename to ${template}`)
}

async function seed(database: Database, connection: pg.ClientConfig): Promise<void> {
  const tokens = createTokens({ database, secret, roleScopes })
  const url = 'http://localhost'
  const addresses = { baseUrl: `${url}/v5`, authUrl: url, teamBaseUrl: url }
  const owner = { database, secret, tokens, addresses, email: people.owner.email, password }
  const large = await bootstrap({ ...owner, organization: organizations.large })
  const measured = {
    organizationId: uuidOf('org', large.organizationId),
    userId: uuidOf('usr', large.userId),
    teamId: uuidOf('tea', large.teamId),
  }
  const client = new pg.Client(connection)
  await client.connect()
  await fill({ client, connection, contacts: contactCount, organizations: 1, measured, log: () => undefined })
  await client.end()
  const { bootstrap: small } = await createDemo({
    ...owner,
    organization: organizations.small,
    connection,
    contacts: demoContacts,
    seed: 1,
    day: Date.parse(demoDay),
    signal: new AbortController().signal,
    log: () => undefined,
    progress: { loaded: () => undefined, indexed: () => undefined },
  })
  await addPeople(database, [measured.organizationId, uuidOf('org', small.organizationId)])
}

/** The other members; the owner exists. */
async function addPeople(database: Database, organizationIds: readonly string[]): Promise<void> {
  const passwordHash = await hashPassword(password, 'seed')
  await database.crossTenantTransaction('check the database', async (db) => {
    for (const role of ['member', 'viewer'] as const) {
      const id = newId()
      await insertUser(db, { id, ...people[role], passwordHash, isVerified: true })
      for (const organizationId of organizationIds) await addMember(db, { organizationId, userId: id, role })
    }
    await db.query(sql`update users set name = ${people.owner.name}, verified_at = now()
      where email = ${people.owner.email}`)
  })
}

function uuidOf(prefix: string, id: string): string {
  const uuid = decodeId(prefix, id)
  if (uuid === undefined) throw new Error(`${id} is not an id with the prefix ${prefix}.`)
  return uuid
}

import { join } from 'node:path'
import type pg from 'pg'
import { roleScopes } from '../../server/src/app.ts'
import { freePort } from '../shared/free-port.ts'
import {
  type Account,
  bootstrap,
  connectEmbedded,
  createWorkspace,
  password,
  runRapport,
  startService,
} from '../shared/service.ts'
import { processOf, type Program } from '../shared/usage.ts'
import { type Person, personOf } from './person.ts'

/** The fuzzed service and its database. */
export interface Testbed {
  port: number
  /** The organization whose credentials the requests use. */
  ours: Account
  /** The organization whose data must not be returned or changed. */
  theirs: Account
  /** The owner of a third organization, to whose own account requests apply. */
  person: Person
  /** A key of ours with narrow scopes. */
  narrowKey: string
  /** An expired key of ours. */
  expiredKey: string
  client: pg.Client
  /** Everything that the service has logged. */
  logged(): Promise<string>
  /** Undefined if the service runs in this process. */
  program: Program | undefined
}

/** Settings of the service. The rate limiter runs, but its limit is never reached. */
export const settings = {
  RATE_LIMIT_PER_MINUTE: '100000000',
  // Nothing changes but by a request.
  WEBHOOK_CONCURRENCY: '0',
  CORS_ORIGINS: 'https://app.example.com',
  PUBLIC_URL: 'https://crm.example.com',
  SIGN_UP: 'open',
  TRUST_PROXY: '127.0.0.1/32',
}

/** Starts the service as a user would, and creates the organizations. */
export async function startTestbed(root: string): Promise<Testbed> {
  const workspace = await createWorkspace(root, 'fuzz', settings)
  const options = { port: await freePort(), dataFolder: join(workspace.folder, 'data') }
  const service = await startService(workspace, options)
  const create = (name: string) => bootstrap(workspace, options, name)
  const [ours, theirs, spare] = await Promise.all([create(names.ours), create(names.theirs), create(names.spare)])
  const key = async (name: string, scopes: readonly string[]): Promise<string> => {
    const args = ['api-key', 'create', '--organization', ours.organizationId, '--name', name, '--scope', ...scopes]
    return (await runRapport<{ apiKey: string }>(workspace, options, args)).apiKey
  }
  const [{ client }, narrowKey, expiredKey] = await Promise.all([
    connectEmbedded(options.dataFolder),
    key('narrow', narrowScopes),
    key(expiredName, ['*:*:*']),
  ])
  await expire(client)
  await giveEverything(client)
  return {
    port: service.port,
    ours,
    theirs,
    person: await personOf(client, spare, password),
    narrowKey,
    expiredKey,
    client,
    logged: () => service.log(),
    program: processOf(service.pid),
  }
}

/** All texts of the other organization contain this; no request does. */
export const mark = 'Zwetschgenmus'
export const names = { ours: 'Ours', theirs: mark, spare: 'Spare' } as const
export const narrowScopes = ['contact:*:read', 'team:list:read']
export const expiredName = 'expired'

/** Lets the keys with that name expire; they cannot be created as expired. */
export async function expire(client: pg.Client): Promise<void> {
  await client.query(`update api_keys set expires_at = now() - interval '1 day' where name = $1`, [expiredName])
}

/** Gives the keys of bootstrap all scopes of an owner by name, because wildcards do not cover all of them. */
async function giveEverything(client: pg.Client): Promise<void> {
  await client.query(`update api_keys set scopes = $1, version = version + 1 where name = 'Bootstrap'`, [
    roleScopes('owner'),
  ])
}

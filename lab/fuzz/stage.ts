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

/** The service that is fuzzed, and what stands behind it. */
export interface Stage {
  port: number
  /** The organization whose credentials the requests carry. */
  ours: Account
  /** The one that must not be told of, nor changed. */
  theirs: Account
  /** The owner of a third, about whose own account requests are. */
  person: Person
  /** A key of ours that may read contacts and nothing else. */
  narrowKey: string
  /** A key of ours that was good until yesterday. */
  expiredKey: string
  client: pg.Client
  /** All that the service has logged. */
  logged(): Promise<string>
  /** Undefined where the service is part of this process. */
  program: Program | undefined
}

/** How the service is set up for this. The limiter stands in the way as ever, but never says no. */
export const settings = {
  RATE_LIMIT_PER_MINUTE: '100000000',
  CORS_ORIGINS: 'https://app.example.com',
  PUBLIC_URL: 'https://crm.example.com',
  SIGN_UP: 'open',
  TRUST_PROXY: '127.0.0.1/32',
}

/** Starts the service as a user would, with the organizations. */
export async function startStage(root: string): Promise<Stage> {
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

/** Of the other organization all that is text holds this, and no request does. */
export const mark = 'Zwetschgenmus'
export const names = { ours: 'Ours', theirs: mark, spare: 'Spare' } as const
export const narrowScopes = ['contact:*:read', 'team:list:read']
export const expiredName = 'expired'

/** Lets the keys of that name have ended: one that has cannot be made. */
export async function expire(client: pg.Client): Promise<void> {
  await client.query(`update api_keys set expires_at = now() - interval '1 day' where name = $1`, [expiredName])
}

/** What no wildcard covers has to be named: the keys of bootstrap may what an owner may. */
async function giveEverything(client: pg.Client): Promise<void> {
  await client.query(`update api_keys set scopes = $1, version = version + 1 where name = 'Bootstrap'`, [
    roleScopes('owner'),
  ])
}

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { end } from '../tools/child.ts'
import { atEnd } from '../tools/cleanup.ts'
import { processOf, type Program } from '../tools/usage.ts'
import { openEmbedded } from '../server/src/platform/database/embedded.ts'
import { roleScopes } from '../server/src/platform/access/scopes.ts'
import type { Account } from './fixture.ts'
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
export async function openStage(root: string): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-fuzz-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  // The database of a run as root belongs to another user, who has to come through.
  await chmod(folder, 0o711)
  const command = join(root, 'bin/rapport.js')
  const dataFolder = join(folder, 'data')
  const env = environment(dataFolder)
  const log = join(folder, 'log')
  const output = openSync(log, 'a')
  const child = spawn(process.execPath, [command, 'start'], { env, stdio: ['ignore', output, output] })
  closeSync(output)
  atEnd(() => end(child))
  const port = await portOf(child, dataFolder, log)
  const run = async (...words: string[]) =>
    JSON.parse((await promisify(execFile)(process.execPath, [command, ...words, '--json'], { env })).stdout)
  const found = (name: string): Promise<Account> =>
    run('bootstrap', '--email', `${name.toLowerCase()}@example.com`, '--organization', name)
  const [ours, theirs, spare] = await Promise.all([found(names.ours), found(names.theirs), found(names.spare)])
  const key = async (name: string, scopes: readonly string[]): Promise<string> =>
    (await run('api-key', 'create', '--organization', ours.organizationId, '--name', name, '--scope', ...scopes)).apiKey
  const [client, narrowKey, expiredKey] = await Promise.all([
    connected(dataFolder),
    key('narrow', narrowScopes),
    key(expiredName, ['*:*:*']),
  ])
  await expire(client)
  await giveEverything(client)
  return {
    port,
    ours,
    theirs,
    person: await personOf(client, spare, password),
    narrowKey,
    expiredKey,
    client,
    logged: () => readFile(log, 'utf8'),
    program: processOf(child.pid ?? 0),
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

/** Whatever else the environment holds stays outside. */
const password = 'only for these requests'
const environment = (dataFolder: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  PORT: '0',
  RAPPORT_PASSWORD: password,
  DATA_DIR: dataFolder,
  ...settings,
})

async function connected(dataFolder: string): Promise<pg.Client> {
  const embedded = await openEmbedded({ dataFolder, purpose: 'rapport fuzz', log: () => undefined })
  atEnd(() => embedded.close())
  const client = new pg.Client(embedded.connection)
  await client.connect()
  atEnd(() => client.end())
  return client
}

/** The service notes its address for the commands of its data folder. */
async function portOf(child: ChildProcess, dataFolder: string, log: string): Promise<number> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await delay(50)) {
    if (child.exitCode !== null) break
    const note = await readFile(join(dataFolder, 'service.json'), 'utf8').catch(() => undefined)
    const url = note === undefined ? undefined : (JSON.parse(note) as { url: string }).url
    const ready = url === undefined ? undefined : await fetch(`${url}/readyz`).catch(() => undefined)
    if (url !== undefined && ready?.ok) return Number(new URL(url).port)
  }
  throw new Error(`The service did not start:\n${await readFile(log, 'utf8')}`)
}

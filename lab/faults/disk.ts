import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { addCleanup } from '../shared/cleanup.ts'
import { clusterUser } from '../../server/src/platform/operations/embedded-postgres/cluster.ts'
import { connect } from '../../server/src/platform/database/connect.ts'
import { openEmbedded } from '../../server/src/platform/operations/embedded-postgres/embedded.ts'
import { audit } from './audit.ts'
import { startDatabase } from './database.ts'
import { createFaultsWorkspace } from './workspace.ts'
import type { Workspace } from '../shared/service.ts'
import { type ScenarioResult, Guarantees, rounded, type Run } from './scenario.ts'
import { startTestbed, recovery, type Testbed } from './stage.ts'

const diskMegabytes = 400
/** Milliseconds within which the first write must be rejected. */
const timeout = 60_000

interface DiskOptions {
  seconds: number
  /** Puts the whole embedded database on the disk, including its WAL, so that PostgreSQL stops. */
  includeWal: boolean
}

/** Fills the disk of the tables for a while. */
export async function disk(run: Run, { seconds, includeWal }: DiskOptions): Promise<ScenarioResult> {
  const workspace = await createFaultsWorkspace(run.root)
  const mount = await mountSmallDisk(workspace)
  if (mount === undefined) {
    await workspace.remove()
    return { figures: {}, broken: [], skipped: 'mounting a small disk requires root' }
  }
  const guarantees = new Guarantees()
  const dataFolder = join(mount.folder, 'data')
  const database = includeWal
    ? undefined
    : await startDatabase(join(mount.folder, 'database'), {
        walFolder: join(workspace.folder, 'wal'),
        template: run.template,
      })
  const stage = await startTestbed(run, database ? { environment: { DATABASE_URL: database.url } } : { dataFolder })
  const { writers, client, account } = stage
  writers.start()
  await recovery(writers, performance.now())
  await delay(1000)
  const ballast = join(mount.folder, 'ballast')
  const switchWal = includeWal ? await walSwitcher(dataFolder) : undefined
  fillDisk(ballast)
  await switchWal?.()
  const full = await whileFull(stage, seconds)
  await rm(ballast)
  const freed = performance.now()
  const recoveredAfter = await recovery(writers, freed)
  await delay(500)
  await writers.stop()
  guarantees.check('writes are rejected while the disk is full', full.writes.includes(503), full.writes)
  guarantees.checkNone(
    'a rejected write gets a 503',
    full.writes.filter((status) => ![201, 503].includes(status)),
  )
  if (!includeWal)
    guarantees.checkNone(
      'reads still succeed',
      full.reads.filter((status) => status !== 200),
    )
  guarantees.check('writes resume within 30 s', recoveredAfter < 30_000, rounded(recoveredAfter))
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  guarantees.checkNone('every response is successful or asks to retry later', writers.unexpected)
  guarantees.checkNone('every 503 has a Retry-After header', writers.withoutRetryAfter)
  await stage.service.stop()
  await stage.workspace.remove()
  await database?.stop()
  await mount.remove()
  await workspace.remove()
  const share = (statuses: readonly number[]) =>
    `${statuses.filter((status) => status < 300).length} of ${statuses.length}`
  const figures = {
    'full for, s': seconds,
    ...writers.counts,
    'reads served while full': share(full.reads),
    'writes made while full': share(full.writes),
    'writes resume after space is freed, ms': rounded(recoveredAfter),
    ...audited,
  }
  return { figures, broken: guarantees.broken }
}

/** Mounts a small disk; undefined if that is not permitted. */
export async function mountSmallDisk({
  folder,
}: Pick<Workspace, 'folder'>): Promise<{ folder: string; remove(): Promise<void> } | undefined> {
  const mount = join(folder, 'disk')
  await mkdir(mount)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m,mode=0711`, 'tmpfs', mount], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  return { folder: mount, remove: addCleanup(async () => void execFileSync('umount', ['-l', mount])) }
}

/** Returns a function that makes PostgreSQL start its next WAL file, for which there is no space. */
async function walSwitcher(dataFolder: string): Promise<() => Promise<void>> {
  const embedded = await openEmbedded({ dataFolder, purpose: 'rapport faults', log: () => undefined })
  const { connection } = embedded
  await embedded.close()
  return async () => {
    const client = await connect({ ...connection, user: clusterUser })
    await client.query('select pg_switch_wal()').catch(() => undefined)
    await client.end().catch(() => undefined)
  }
}

export function fillDisk(file: string): void {
  const handle = openSync(file, 'w')
  for (const size of [2 ** 20, 2 ** 12]) {
    const bytes = Buffer.alloc(size, 1)
    try {
      for (;;) writeSync(handle, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  fsyncSync(handle)
  closeSync(handle)
}

/** Reads and writes after the first rejected write, when the remaining space is used up. */
async function whileFull(
  { client, writers }: Testbed,
  seconds: number,
): Promise<{ reads: number[]; writes: number[] }> {
  const [reads, writes]: [number[], number[]] = [[], []]
  const properties = { name: 'While full', customProperties: { note: 'x'.repeat(20_000) } }
  const write = async () => (await writers.create(properties)).reply.status
  for (const deadline = performance.now() + timeout; (await write()) === 201;) {
    if (performance.now() > deadline) throw new Error('The disk did not become full.')
  }
  for (const end = performance.now() + seconds * 1000; performance.now() < end || reads.length < 5; await delay(100)) {
    reads.push((await client.send({ method: 'GET', path: '/v5/contacts?limit=5' })).status)
    writes.push(await write())
  }
  return { reads, writes }
}

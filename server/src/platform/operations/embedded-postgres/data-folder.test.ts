import { execFileSync } from 'node:child_process'
import { chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataDirectory, openTask, query, startErrorOf } from '../../../../test/data-directory.ts'
import { type ProcessStarter, processStarter } from '../../../../test/processes.ts'
import { canAccess } from './binaries.ts'
import { prepareDataFolder } from './data-folder.ts'
import { openEmbedded } from './embedded.ts'

const isRoot = process.getuid?.() === 0
const project = fileURLToPath(new URL('../../../../..', import.meta.url))

let processes: ProcessStarter
beforeAll(async () => {
  processes = await processStarter()
})
afterAll(() => processes.close())

test('a cluster of another major version is rejected and left unchanged', async (context) => {
  const options = await newDataDirectory(context)
  await (await openEmbedded(options)).close()
  const { cluster } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
  await writeFile(join(cluster, 'PG_VERSION'), '15\n')
  const before = await readdir(cluster)
  expect(await startErrorOf(options)).toMatch(/created by PostgreSQL 15, but this Rapport uses PostgreSQL 18/)
  expect(await readdir(cluster)).toEqual(before)
})

test('a data folder that is a file, is below a file or has too long a name is rejected with an explanation', async (context) => {
  const options = await newDataDirectory(context)
  const file = join(options.home, 'file')
  await writeFile(file, 'precious')
  expect(await startErrorOf({ ...options, dataFolder: file })).toContain('is a file')
  expect(await startErrorOf({ ...options, dataFolder: join(file, 'data') })).toContain('is a file, not a folder')
  expect(await startErrorOf({ ...options, dataFolder: join(options.home, 'x'.repeat(300)) })).toContain('too long')
  expect(await readFile(file, 'utf8')).toBe('precious')
})

test('a data folder whose path is too long for a socket works', async (context) => {
  const options = await newDataDirectory(context)
  const dataFolder = join(options.home, 'd'.repeat(60), 'e'.repeat(60))
  const embedded = await openEmbedded({ ...options, dataFolder })
  expect(await query(embedded.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(Buffer.byteLength(String(embedded.connection.host))).toBeLessThan(90)
  await embedded.close()
  await rm(String(embedded.connection.host), { recursive: true })
})

test.runIf(isRoot)('root places the cluster elsewhere if other users cannot enter the data folder', async (context) => {
  const options = await newDataDirectory(context)
  const closed = join(options.home, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const dataFolder = join(closed, 'data')
  const first = await openEmbedded({ ...options, dataFolder })
  await query(first.connection, 'create table kept as select 42 as answer')
  await first.close()
  expect(await readdir(dataFolder)).toEqual(expect.arrayContaining(['postgres.location', 'postgres.log']))
  const second = await openEmbedded({ ...options, dataFolder })
  expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await second.close()

  const { cluster } = await prepareDataFolder(dataFolder, options.rootsFolder)
  expect(cluster.startsWith(`${options.rootsFolder}/`)).toBe(true)
  await rm(cluster, { recursive: true })
  expect(await startErrorOf({ ...options, dataFolder })).toContain('nothing is there')
})

test.runIf(isRoot)("root cannot use a user's data folder, nor a user that of root", async (context) => {
  const options = await newDataDirectory(context)
  await (await openEmbedded(options)).close()
  const { cluster } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
  const user = { uid: 12345, gid: 12345 }
  const other = processes.start(openTask(options), user)
  const refusal = await other.outcome
  expect(refusal).toMatchObject({ name: 'StartError', message: expect.stringContaining('belongs to user 0') })
  expect(refusal).toMatchObject({ message: expect.stringContaining('Start the service as root.') })
  await chown(cluster, user.uid, user.gid)
  const message = await startErrorOf({ ...options, purpose: 'rapport doctor' })
  expect(message).toContain(
    `belongs to user 12345. Run this command as #12345: \`sudo -u '#12345' DATA_DIR=${options.dataFolder} rapport doctor\``,
  )
  expect(message).not.toContain('chown')
})

test.runIf(isRoot)('the service also works as an unprivileged user', async (context) => {
  if (!(await canAccess(project))) context.skip('the project lies in a folder that other users cannot enter')
  const options = await newDataDirectory(context)
  // The account "daemon": PostgreSQL needs an account with a name.
  const user = { uid: 1, gid: 1 }
  await chown(options.home, user.uid, user.gid)
  const service = processes.start(openTask(options), user)
  const { connection, event } = await service.outcome
  expect(event).toBe('open')
  expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }])
  expect((await stat(options.dataFolder)).mode & 0o777).toBe(0o700)
  expect((await stat(options.dataFolder)).uid).toBe(user.uid)
  service.child.kill('SIGTERM')
  await service.exited
  expect(service.events.at(-1)?.event).toBe('closed')
})

test.runIf(isRoot)('a full disk is reported clearly and does no harm', async (context) => {
  const options = await newDataDirectory(context)
  await mkdir(options.dataFolder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=755', 'tmpfs', options.dataFolder], { stdio: 'pipe' })
  } catch {
    context.skip('this machine does not let root mount a file system')
  }
  try {
    expect(await startErrorOf(options)).toMatch(/No space left on device|disk is full/)
    expect((await readdir(options.dataFolder)).filter((name) => name.startsWith('postgres.new'))).toEqual([])
  } finally {
    execFileSync('umount', [options.dataFolder])
  }
})

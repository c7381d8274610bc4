import { execFileSync, spawn } from 'node:child_process'
import { chmod, chown, lchown, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataDirectory, openTask, query, serverOf, startErrorOf } from '../../../../test/data-directory.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'
import { canAccess, findBinaries } from './binaries.ts'
import { prepareDataFolder } from './data-folder.ts'
import { openEmbedded } from './embedded.ts'
import { formerUser, serverAccount, takeOver } from './server-account.ts'

const isRoot = process.getuid?.() === 0
const project = fileURLToPath(new URL('../../../../..', import.meta.url))
const user = { uid: 12345, gid: 12345 }

let processes: ProcessStarter
beforeAll(async () => {
  processes = await processStarter()
})
afterAll(() => processes.close())

const ownersIn = (folder: string): number[] => {
  const owners = execFileSync('find', [folder, '-printf', '%U\\n'], { encoding: 'utf8' }).trim().split('\n')
  return [...new Set(owners.map(Number))]
}

const giveAll = (folder: string, owner: number) => execFileSync('chown', ['-hR', `${owner}:${owner}`, folder])

test.runIf(isRoot)(
  'the server of root has an account that no other program uses, and nobody enters its socket',
  async (context) => {
    const options = await newDataDirectory(context)
    const { connection, close } = await openEmbedded(options)
    const pid = await serverOf(options)
    const { uid } = await stat(`/proc/${pid}`)
    expect([uid, uid === formerUser]).toEqual([serverAccount()?.uid, false])
    expect(await readFile('/etc/passwd', 'utf8')).not.toMatch(new RegExp(`:${uid}:`))
    const { cluster, sockets } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
    expect(ownersIn(cluster)).toEqual([uid])
    expect((await stat(sockets)).mode & 0o777).toBe(0o700)
    const connects = `require('node:net').connect(${JSON.stringify(join(sockets, '.s.PGSQL.5432'))})
    .on('connect', () => console.log('connected')).on('error', ({ code }) => console.log(code)).setTimeout(2000)
    .once('close', () => process.exit())`
    for (const other of [formerUser, 1, user.uid]) {
      const tried = execFileSync(process.execPath, ['-e', connects], {
        uid: other,
        gid: other,
        cwd: '/',
        encoding: 'utf8',
      })
      expect([other, tried.trim()]).toEqual([other, 'EACCES'])
    }
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await close()
  },
)

test.runIf(isRoot)(
  'a data folder from before, whose database nobody owns, keeps its data and gets the account',
  async (context) => {
    const options = await newDataDirectory(context)
    const first = await openEmbedded(options)
    await query(first.connection, 'create table kept as select 42 as answer')
    await first.close()
    const { cluster, sockets } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
    for (const folder of [cluster, sockets]) giveAll(folder, formerUser)
    const second = await openEmbedded(options)
    expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    expect(ownersIn(cluster)).toEqual([serverAccount()?.uid])
    await second.close()
  },
)

test.runIf(isRoot)(
  'a server that an earlier version left running as nobody is restarted with the account',
  async (context) => {
    const options = await newDataDirectory(context)
    const first = await openEmbedded(options)
    await query(first.connection, 'create table kept as select 42 as answer')
    await first.close()
    const { cluster, sockets, dataFolder } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
    for (const folder of [cluster, sockets]) giveAll(folder, formerUser)
    await chown(dataFolder, 0, formerUser)
    const settings = { unix_socket_directories: sockets, listen_addresses: '', port: '5432', fsync: 'off' }
    const former = spawn(
      join(await findBinaries(), 'bin/postgres'),
      ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { uid: formerUser, gid: formerUser, cwd: '/', stdio: 'ignore' },
    )
    await until('the former server responds', async () =>
      query(first.connection, 'select').then(
        () => true,
        () => false,
      ),
    )
    const second = await openEmbedded(options)
    await until('this process has noticed the end of the former server', () => former.exitCode !== null)
    expect(options.logged.join('\n')).toContain('was running as nobody')
    expect((await stat(`/proc/${await serverOf(options)}`)).uid).toBe(serverAccount()?.uid)
    expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.close()
  },
)

test.runIf(isRoot)('taking over a cluster follows no link, and stops at what is not the cluster’s', async (context) => {
  const { home } = await newDataDirectory(context)
  const victim = join(home, 'victim')
  await writeFile(victim, 'precious', { mode: 0o600 })
  const cluster = join(home, 'cluster')
  await mkdir(join(cluster, 'base'), { recursive: true })
  await writeFile(join(cluster, 'base/1'), '')
  await symlink(victim, join(cluster, 'base/link'))
  const folder = join(home, 'elsewhere')
  await mkdir(folder)
  await symlink(folder, join(cluster, 'folder'))
  giveAll(cluster, formerUser)
  await takeOver(cluster, formerUser)
  expect(ownersIn(cluster)).toEqual([serverAccount()?.uid])
  expect([(await stat(victim)).uid, (await stat(folder)).uid]).toEqual([0, 0])

  for (const plant of [
    () => link(victim, join(cluster, 'base/hard')),
    async () => {
      await writeFile(join(cluster, 'base/own'), '')
      await link(join(cluster, 'base/own'), join(cluster, 'base/twice'))
      giveAll(join(cluster, 'base'), formerUser)
    },
  ]) {
    giveAll(cluster, formerUser)
    await plant()
    const before = (await stat(victim)).uid
    await expect(takeOver(cluster, formerUser)).rejects.toThrow(/belongs to user 0|has a second name/)
    expect((await stat(victim)).uid).toBe(before)
    execFileSync('rm', ['-f', join(cluster, 'base/hard')])
  }
  const linked = join(home, 'linked')
  await symlink(folder, linked)
  await expect(takeOver(linked, formerUser)).rejects.toThrow()
})

test.runIf(isRoot)('root refuses a data folder in which another user has put or can put something', async (context) => {
  const options = await newDataDirectory(context)
  const victim = join(options.home, 'victim')
  await writeFile(victim, 'precious', { mode: 0o600 })
  const theirs = join(options.home, 'theirs')
  await mkdir(theirs)
  await writeFile(join(theirs, 'secret'), 'a'.repeat(64))
  await symlink(victim, join(theirs, 'postgres.log'))
  await symlink('/etc', join(theirs, 'sockets'))
  giveAll(theirs, user.uid)
  expect(await startErrorOf({ ...options, dataFolder: theirs })).toMatch(
    /cannot be trusted: \S+theirs belongs to user 12345, who could replace.*Start the service as #12345\./,
  )
  expect(await startErrorOf({ ...options, dataFolder: theirs, purpose: 'rapport doctor' })).toContain(
    `\`sudo -u '#12345' DATA_DIR=${theirs} rapport doctor\``,
  )

  await mkdir(join(theirs, 'data'))
  expect(await startErrorOf({ ...options, dataFolder: join(theirs, 'data') })).toContain('theirs belongs to user 12345')

  const shared = join(options.home, 'shared')
  await mkdir(shared)
  await chmod(shared, 0o1777)
  const target = join(options.home, 'target')
  await mkdir(target, { mode: 0o700 })
  await symlink(target, join(shared, 'data'))
  await lchown(join(shared, 'data'), user.uid, user.gid)
  expect(await startErrorOf({ ...options, dataFolder: join(shared, 'data') })).toContain('data belongs to user 12345')
  expect([(await stat(target)).mode & 0o777, await readdir(target)]).toEqual([0o700, []])

  const open = join(options.home, 'open')
  await mkdir(join(open, 'data'), { recursive: true })
  await chmod(open, 0o777)
  expect(await startErrorOf({ ...options, dataFolder: join(open, 'data') })).toContain('every user can replace')

  const own = join(options.home, 'own')
  await mkdir(own)
  await chmod(own, 0o777)
  await symlink(victim, join(own, 'postgres.log'))
  await lchown(join(own, 'postgres.log'), user.uid, user.gid)
  expect(await startErrorOf({ ...options, dataFolder: own })).toContain('postgres.log belongs to user 12345')
  expect([await readFile(victim, 'utf8'), (await stat(victim)).uid, (await stat(own)).mode & 0o022]).toEqual([
    'precious',
    0,
    0,
  ])
})

test.runIf(isRoot)('a user does not follow what another user has put into the data folder either', async (context) => {
  if (!(await canAccess(project))) context.skip('the project lies in a folder that other users cannot enter')
  const options = await newDataDirectory(context)
  await mkdir(options.dataFolder)
  await symlink(join(options.home, 'victim'), join(options.dataFolder, 'postgres.log'))
  await lchown(join(options.dataFolder, 'postgres.log'), user.uid, user.gid)
  for (const path of [options.home, options.dataFolder]) await chown(path, 1, 1)
  const started = processes.start(openTask(options), { uid: 1, gid: 1 })
  expect(await started.outcome).toMatchObject({
    message: expect.stringContaining('postgres.log belongs to user 12345'),
  })
  expect(await readdir(options.dataFolder)).toEqual(['postgres.log'])
})

import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, type TestContext } from 'vitest'
import { databaseUrlOf, run, runProcess } from '../../test/command-line.ts'
import { createDatabase } from '../../test/postgres.ts'

const isRoot = process.getuid?.() === 0

/** A folder with a file system of its own, which only root can mount. */
async function mountFolder(context: TestContext, options: string) {
  const home = await mkdtemp(join(tmpdir(), 'rapport-mount-'))
  await chmod(home, 0o755)
  const folder = join(home, 'disk')
  await mkdir(folder)
  const mount = (...args: string[]) => execFileSync('mount', args, { stdio: 'pipe' })
  try {
    mount('-t', 'tmpfs', '-o', options, 'tmpfs', folder)
  } catch {
    context.skip('this machine does not let root mount a file system')
  }
  context.onTestFinished(async () => {
    execFileSync('umount', [folder])
    await rm(home, { recursive: true })
  })
  return { folder, makeReadOnly: () => mount('-o', 'remount,ro', folder) }
}

const readOnly = /\(EROFS\).*read-only.*remount,rw/is

test.runIf(isRoot)(
  'a read-only file system is called that by start, doctor and backup',
  async (context) => {
    const { folder, makeReadOnly } = await mountFolder(context, 'size=200m,mode=755')
    const environment = { DATA_DIR: join(folder, 'data'), PORT: '0' }
    await run(['migrate'], { environment })
    makeReadOnly()
    const started = await runProcess(['start'], { environment })
    expect(started).toMatchObject({ code: 3, errors: expect.stringMatching(readOnly) })
    const examined = await run(['doctor', '--json'], { environment })
    const { findings } = JSON.parse(examined.output)
    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'data folder',
        state: 'wrong',
        message: expect.stringContaining('EROFS'),
        advice: expect.stringMatching(/^Its file system is read-only/),
      }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'database', state: 'wrong', message: expect.stringMatching(readOnly) }),
    )
    expect(examined.output).not.toContain('chown')
    const backedUp = await run(['backup', join(folder, 'rapport.backup')], { environment })
    expect(backedUp).toMatchObject({ code: 3, errors: expect.stringMatching(readOnly) })
  },
  120_000,
)

test('a backup says why its file cannot be written, and what to do', async (context) => {
  const database = await createDatabase()
  context.onTestFinished(() => database.drop())
  const home = await mkdtemp(join(tmpdir(), 'rapport-target-'))
  context.onTestFinished(() => rm(home, { recursive: true }))
  const backUp = (file: string) =>
    run(['backup', file], { environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: home } })
  expect(await backUp(join(home, 'none', 'file'))).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cannot be written (ENOENT): the folder does not exist. Create it first.'),
  })
  if (!isRoot) return context.skip('only root can mount a file system')
  const small = await mountFolder(context, 'size=4k')
  expect(await backUp(join(small.folder, 'file'))).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cannot be written (ENOSPC): the disk is full.'),
  })
  small.makeReadOnly()
  expect(await backUp(join(small.folder, 'file'))).toMatchObject({
    code: 1,
    errors: expect.stringMatching(readOnly),
  })
})

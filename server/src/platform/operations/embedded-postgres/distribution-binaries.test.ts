import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { debianBinaries } from '../../../../test/debian.ts'
import { query } from '../../../../test/data-directory.ts'
import { run } from '../../../../test/command-line.ts'
import { openEmbedded } from './embedded.ts'

const binaries = debianBinaries()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-distribution-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function versionOf(dataFolder: string, given: string | undefined): Promise<string> {
  const embedded = await openEmbedded({ dataFolder, purpose: 'rapport doctor', log: () => undefined, binaries: given })
  try {
    const [row] = (await query(embedded.connection, `select current_setting('server_version') as version`)) as {
      version: string
    }[]
    return row?.version ?? ''
  } finally {
    await embedded.close()
  }
}

test.skipIf(!binaries)('a new embedded database can run with the PostgreSQL of the distribution', async () => {
  const dataFolder = join(folder, 'new')
  expect(await versionOf(dataFolder, binaries)).toMatch(/^15\./)
})

test.skipIf(!binaries)(
  'an existing embedded database moves to the PostgreSQL of the distribution, and the doctor names its age before',
  async () => {
    const environment = { DATA_DIR: join(folder, 'existing'), RAPPORT_PASSWORD: 'violet engine tandem' }
    const made = await run(['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--json'], {
      environment,
    })
    expect(made, made.errors).toMatchObject({ code: 0 })
    const examined = await run(['doctor'], { environment })
    expect(examined.output + examined.errors).toMatch(/PostgreSQL 18\.4 is at least \d+ days old and lacks/)
    const withBinaries = { ...environment, POSTGRES_BINARIES: binaries ?? '' }
    const moved = await run(['upgrade-database'], { environment: withBinaries })
    expect(moved, moved.errors).toMatchObject({ code: 0 })
    expect(moved.errors).toContain('moving it to PostgreSQL 15')
    expect(await versionOf(environment.DATA_DIR, binaries)).toMatch(/^15\./)
    const kept = await run(['import', 'list', '--organization', 'Acme', '--json'], { environment: withBinaries })
    expect(kept, kept.errors).toMatchObject({ code: 0 })
  },
  120_000,
)

test('a folder without PostgreSQL is refused', async () => {
  const refused = await run(['migrate'], { environment: { DATA_DIR: join(folder, 'x'), POSTGRES_BINARIES: folder } })
  expect(refused).toMatchObject({ code: 3, errors: expect.stringContaining(`There is no PostgreSQL in ${folder}`) })
})

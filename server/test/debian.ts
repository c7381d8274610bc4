import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const installed = '/usr/lib/postgresql'

/** The folder of the newest PostgreSQL (15 or later) installed from Debian's packages, if any. */
export function debianBinaries(): string | undefined {
  if (!existsSync(installed)) return undefined
  return readdirSync(installed)
    .filter((version) => Number(version) >= 15 && existsSync(join(installed, version, 'bin/postgres')))
    .sort((left, right) => Number(right) - Number(left))
    .map((version) => join(installed, version))[0]
}

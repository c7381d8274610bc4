import { mkdir, writeFile } from 'node:fs/promises'
import { arch, cpus, release, totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'

/** The machine that figures belong to. */
export interface Machine {
  processors: string
  cores: number
  memoryGb: number
  system: string
  node: string
  postgres: string
}

/** This machine, with the version of PostgreSQL that is used on it. */
export const machine = (postgres: string): Machine => ({
  processors: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  system: `${process.platform} ${release()} ${arch()}`,
  node: process.versions.node,
  postgres,
})

/** It, in a line. */
export const describeMachine = ({ cores, processors, memoryGb, system, node, postgres }: Machine): string =>
  `${cores} × ${processors}, ${memoryGb} GB, ${system}, Node ${node}, PostgreSQL ${postgres}`

/** Writes a report as JSON, in a folder that need not be there. */
export async function writeReport(file: string, report: object): Promise<void> {
  const path = resolve(file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`)
}

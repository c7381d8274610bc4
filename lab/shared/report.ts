import { mkdir, writeFile } from 'node:fs/promises'
import { arch, cpus, release, totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'

/** The machine on which figures were measured. */
export interface Machine {
  processors: string
  cores: number
  memoryGb: number
  system: string
  node: string
  postgres: string
}

/** Describes this machine; `postgres` is the version in use. */
export const currentMachine = (postgres: string): Machine => ({
  processors: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  system: `${process.platform} ${release()} ${arch()}`,
  node: process.versions.node,
  postgres,
})

/** The machine in one line. */
export const describeMachine = ({ cores, processors, memoryGb, system, node, postgres }: Machine): string =>
  `${cores} × ${processors}, ${memoryGb} GB, ${system}, Node ${node}, PostgreSQL ${postgres}`

/** A Markdown table with aligned columns. */
export function table(titles: readonly string[], lines: readonly (readonly string[])[]): string[] {
  const widths = titles.map((title, column) =>
    Math.max(title.length, 3, ...lines.map((line) => line[column]?.length ?? 0)),
  )
  const formatRow = (line: readonly string[]) =>
    `| ${widths.map((width, column) => (line[column] ?? '').padEnd(width)).join(' | ')} |`
  return [formatRow(titles), formatRow(widths.map((width) => '-'.repeat(width))), ...lines.map(formatRow)]
}

/** Prints the text, and writes the report as JSON to the file, if given. */
export async function publish(text: string, report: object, file: string | undefined): Promise<void> {
  console.log(`\n${text}`)
  if (file === undefined) return
  const path = resolve(file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`)
}

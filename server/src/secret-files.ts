import { readFileSync } from 'node:fs'

/** The environment variables of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The environment with the contents of the files that it names. */
export function withSecretFiles(
  given: Environment,
  /** The settings by those that name their files. */
  fileSettings: ReadonlyMap<string, string>,
): { environment: Environment; mistakes: string[] } {
  const environment: Record<string, string | undefined> = { ...given }
  const mistakes: string[] = []
  for (const [fileName, name] of fileSettings) {
    const file = given[fileName]
    if (!file) continue
    if (given[name]) mistakes.push(`${fileName}: ${name} is set too; set only one of them`)
    try {
      const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
      if (text === '') mistakes.push(`${fileName}: ${file} is empty`)
      environment[name] = text
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      mistakes.push(`${fileName}: ${file} cannot be read (${code})`)
    }
  }
  return { environment, mistakes }
}

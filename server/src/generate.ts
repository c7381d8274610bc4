import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { resources, routes } from './app.ts'
import { fileSettings, settings } from './config.ts'
import { describeErrors } from './platform/openapi/errors-reference.ts'
import { describeRoutes } from './platform/openapi/routes-reference.ts'
import { readMigrations } from './platform/database/migrate.ts'
import { describe, differencesOf } from './platform/operations/schema/differences.ts'
import { readCatalog } from './platform/operations/schema/catalog.ts'
import { readMigrated } from './platform/operations/schema/migrated-database.ts'
import { printSchema } from './platform/operations/schema/print.ts'
import { skeletonOf } from './platform/operations/schema/migration.ts'
import { describeFigures } from './assistant/analysis/evaluation/page.ts'
import type { Setting } from './settings.ts'

/** A generated file of the repository. */
interface GeneratedFile {
  file: string
  /** `root` is the folder of the repository. */
  content(root: string): string | Promise<string>
}

export const generatedFiles: readonly GeneratedFile[] = [
  { file: 'docs/configuration.md', content: describeSettings },
  { file: 'docs/errors.md', content: describeErrors },
  { file: 'docs/next-actions/README.md', content: describeFigures },
  { file: 'docs/routes.md', content: () => describeRoutes(routes) },
]

/** Writes the generated files that differ, under the root of the repository. Returns a line for each file. */
export async function generate(root: string): Promise<string[]> {
  return Promise.all(
    generatedFiles.map(async ({ file, content }) => {
      const path = join(root, file)
      const text = await content(root)
      if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return `${file} is up to date.`
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
      return `${file} was written.`
    }),
  )
}

const migrationsOf = (root: string): string => join(root, 'server/schema')

/** The schema that the migrations create, as one SQL file. */
export const currentSchema = (root: string): Promise<string> => readMigrated(migrationsOf(root), printSchema)

/** The differences between declarations and migrations, and the keywords that must be quoted as names. */
async function compareSchema(root: string) {
  const catalog = await readMigrated(migrationsOf(root), readCatalog)
  const listed = routes.flatMap(({ query }) => (query.kind === 'list' ? [query.resource] : []))
  return { differences: differencesOf(resources, listed, catalog), keywords: catalog.keywords }
}

/** Differences between the code and the generated files or migrations, one sentence each. */
export async function findDrift(root: string): Promise<string[]> {
  const files = await Promise.all(
    generatedFiles.map(async ({ file, content }) => {
      const committed = await readFile(join(root, file), 'utf8').catch(() => undefined)
      return committed === (await content(root)) ? [] : [`${file} differs from the code: run \`npm run generate\`.`]
    }),
  )
  const { differences } = await compareSchema(root)
  const schema = differences.map(
    (one) =>
      `The declarations and the migrations differ: ${describe(one)}. Run \`npm run generate -- migration <name>\`.`,
  )
  return [...files.flat(), ...schema]
}

/**
 * Writes the migration that the declarations require, for review. Returns a line for each file; undefined if nothing
 * differs. Error: an invalid name.
 */
export async function generateMigration(root: string, name: string): Promise<string[] | undefined> {
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    throw new Error(`"${name}": a migration is named in lower case, such as add_deals.`)
  const { differences, keywords } = await compareSchema(root)
  if (differences.length === 0) return undefined
  const { changes, indexes } = skeletonOf(differences, keywords)
  const last = (await readMigrations(migrationsOf(root))).at(-1)?.version ?? 0
  const texts = [
    ...(changes === undefined ? [] : [{ suffix: '', text: changes }]),
    ...(indexes === undefined ? [] : [{ suffix: changes === undefined ? '' : '_indexes', text: indexes }]),
  ]
  const written = await Promise.all(
    texts.map(async ({ suffix, text }, index) => {
      const file = `server/schema/${String(last + 1 + index).padStart(4, '0')}_${name}${suffix}.sql`
      await writeFile(join(root, file), text, { flag: 'wx' })
      return `${file} was written.`
    }),
  )
  return [...differences.map((one) => `Because ${describe(one)}.`), ...written, reviewNote]
}

const reviewNote =
  'Review it before you commit it: the names of indexes, what happens when a record that is referred to is deleted, checks of values, and each line that says "Review".'

function describeSettings(): string {
  const declared: Setting<unknown>[] = Object.values(settings)
  return [
    '# Configuration',
    '',
    'Generated from `server/src/config.ts` by `npm run generate`; do not edit.',
    '',
    'Every setting is an environment variable, and none is required. Without any, the service listens on this machine and',
    'uses its embedded database. An empty value counts as unset. A `.env` file is not read; to use one, pass it to Node',
    '(`node --env-file=.env bin/rapport.js start`). If a setting is invalid or misspelled, the start exits with code 3 and lists',
    'all errors.',
    '',
    `Secrets can be read from files: ${[...fileSettings.keys()].map((name) => `\`${name}\``).join(', ')} name a file that`,
    'contains the setting without `_FILE`, such as a secret of a container or a credential of systemd. The line break at its end is ignored.',
    '',
    '| Setting | Default | |',
    '|---|---|---|',
    ...declared.map(
      (one) =>
        `| [\`${one.name}\`](#${one.name.toLowerCase()}) | ${formatDefault(one.default)} | ${firstSentence(one.description)} |`,
    ),
    '',
    ...declared.flatMap((one) => [
      `## ${one.name}`,
      '',
      one.description,
      '',
      `Default: ${formatDefault(one.default)}. Example: ${one.example.includes('`') ? one.example : `\`${one.name}=${one.example}\``}.`,
      '',
    ]),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

const formatDefault = (text: string | undefined): string =>
  text === undefined ? 'unset' : text === '' ? 'empty' : `\`${text}\``

const firstSentence = (text: string): string => /^.*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text

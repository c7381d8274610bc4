import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseSource, readSources, readTexts, type Source, tablesOf } from './sources.ts'

// The rules of docs/architecture.md, checked against the imports of the source files.
const sources = readSources(['server', 'lab']).filter(({ path }) => !path.startsWith('server/dist/'))
const web = readSources(['web/src'], /\.tsx?$/).filter(({ path }) => path !== 'web/src/api/openapi.d.ts')
const product = sources.filter(({ path, isTest }) => !isTest && path.startsWith('server/src/'))

const isPlatform = (path: string) => path.startsWith('server/src/platform/')
const architecture = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')

/** Shared by all nouns of identity: credentials, sessions, logins, passwords. */
const isAccess = (path: string) => path.startsWith('server/src/identity/access/')
/** The steps of an import, and of a suggestion, belong to that noun. */
const nounOfStep: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['accept', 'payload', 'merge', 'work', 'removal'].map((step) => [`intake/${step}`, 'intake/imports']),
  ),
  ...Object.fromEntries(['analysis', 'work'].map((step) => [`assistant/${step}`, 'assistant/suggestions'])),
}
function nounOf(path: string): string | undefined {
  const [, folder] = /^server\/src\/((?:crm|intake|assistant|api|identity)\/[^/]+)\//.exec(path) ?? []
  return folder === undefined ? undefined : (nounOfStep[folder] ?? folder)
}
const isStore = (path: string) => /(?:^|[/-])store\.ts$/.test(path)

/** `file → import` for every import of these files that violates the rule. */
const violations = (files: readonly Source[], isViolation: (target: string, file: Source) => boolean): string[] =>
  files.flatMap((file) =>
    file.imports.filter(({ target }) => isViolation(target, file)).map(({ target }) => `${file.path} → ${target}`),
  )

test('the source reader finds files, imports and functions, so that the rules below check something', () => {
  expect(product.length).toBeGreaterThan(30)
  expect(product.filter(({ path }) => isPlatform(path)).length).toBeGreaterThan(15)
  expect(product.filter(({ path }) => isStore(path)).length).toBeGreaterThan(2)
  const paths = new Set(sources.map(({ path }) => path))
  const internal = product.flatMap((file) => file.imports).filter(({ target }) => target.startsWith('server/'))
  expect(internal.length).toBeGreaterThan(50)
  expect(internal.filter(({ target }) => !paths.has(target))).toEqual([])
  expect(product.flatMap((file) => file.functions).length).toBeGreaterThan(100)
  expect(product.flatMap((file) => file.imports).some(({ values }) => values.includes('sql'))).toBe(true)
})

test('the source reader finds each kind of import and each forbidden construct', () => {
  const planted = parseSource(
    'server/src/planted.ts',
    `import { type Sql, sql } from './platform/model/sql.ts'
     import type { Caller } from './platform/model/caller.ts'
     export { startService } from './service.ts'
     const late = import('./log.ts')
     // @ts-${'ignore'}
     export default function (given: any) { return () => {
       given()
     } }`,
  )
  expect(planted.imports).toEqual([
    { target: 'server/src/platform/model/sql.ts', values: ['sql'] },
    { target: 'server/src/platform/model/caller.ts', values: [] },
    { target: 'server/src/service.ts', values: ['*'] },
    { target: 'server/src/log.ts', values: ['*'] },
  ])
  expect(planted.forbidden).toEqual(['a default export at line 6', 'any at line 6', '@ts-ignore at line 5'])
  expect(planted.functions.map(({ lines }) => lines)).toEqual([1, 3])
  const page = parseSource(
    'web/src/planted.tsx',
    `import { sql } from '../../server/src/a.ts'
    export const Page = () => <p>{list()}</p>
    const list = () => []`,
  )
  expect(page.imports.map(({ target }) => target)).toEqual(['server/src/a.ts'])
  expect(page.functions.map(({ hasMarkup }) => hasMarkup)).toEqual([true, false])
})

/** The parts of the service, each above those that it imports. */
const parts = [
  'cli',
  'api',
  'inbox',
  'webhooks',
  'feed',
  'presence',
  'assistant',
  'intake',
  'crm',
  'identity',
  'platform',
]
const partOf = (path: string) => /^server\/src\/([^/]+)\//.exec(path)?.[1] ?? ''

test('each part of the service imports only from those below it, and only the command line what assembles them', () => {
  const isUpward = (target: string, { path }: Source) => {
    const [from, to] = [partOf(path), partOf(target)]
    if (!target.startsWith('server/src/') || from === to || !parts.includes(from)) return false
    const isHelper = to === '' && /^server\/src\/(?:settings|release)\.ts$/.test(target) && from !== 'platform'
    return from !== 'cli' && !isHelper && parts.indexOf(to) < parts.indexOf(from)
  }
  for (const part of parts) expect(product.filter(({ path }) => partOf(path) === part).length).toBeGreaterThan(5)
  const assembling = product.filter(({ path }) => partOf(path) === '').length
  expect(new Set(product.map(({ path }) => partOf(path)))).toEqual(new Set(['', 'processes', ...parts]))
  expect(assembling).toBeLessThan(20)
  expect(violations(product, isUpward)).toEqual([])
})

/** `database`, or `records/page` of `server/src/platform/records/page/parse.ts`; undefined outside the platform. */
const platformFolderOf = (path: string) =>
  /^server\/src\/platform\/((?:records|operations)\/[^/]+|[^/]+)\//.exec(path)?.[1]

/** For each folder, the other folders that it imports, types included. */
function folderImports(
  files: readonly Source[],
  folderOf: (path: string) => string | undefined,
): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    const folder = folderOf(path)
    if (folder === undefined) continue
    const others = imports.map(({ target }) => folderOf(target)).filter((other) => other !== undefined)
    graph.set(folder, new Set([...(graph.get(folder) ?? []), ...others.filter((other) => other !== folder)]))
  }
  return graph
}
const platformImports = () => folderImports(product, platformFolderOf)

/** The folders that docs/architecture.md lists under this line of its tree. */
function listedUnder(line: RegExp): string[] {
  const [, tree = ''] = new RegExp(`${line.source}.*\\n((?: {4}.*\\n)+)`, 'm').exec(architecture) ?? []
  return [...tree.matchAll(/^ {4}([\w/-]+)\//gm)].map(([, name = '']) => name)
}

/** Imports of folders that are listed above. */
const upwardImports = (listed: readonly string[], graph: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  listed.flatMap((folder, index) =>
    listed.slice(0, index).flatMap((above) => (graph.get(folder)?.has(above) ? [`${folder} → ${above}`] : [])),
  )

test('the folders of the platform form no import cycle, types included', () => {
  const graph = platformImports()
  expect([...graph.values()].reduce((sum, others) => sum + others.size, 0)).toBeGreaterThan(20)
  expect(cyclesIn(graph)).toEqual([])
})

test('docs/architecture.md lists the folders of the platform, each above those that it imports', () => {
  const listed = listedUnder(/^ {2}platform\//)
  const graph = platformImports()
  expect([...listed].sort()).toEqual([...graph.keys()].sort())
  expect(upwardImports(listed, graph)).toEqual([])
})

/** `views` of `web/src/views/list-page.tsx`; empty for the files that start the application. */
const webFolderOf = (path: string) => /^web\/src\/(?:([^/]+)\/)?/.exec(path)?.map((part) => part ?? '')[1]

test('docs/architecture.md lists the folders of the web application, each above those that it imports', () => {
  const listed = listedUnder(/^ {2}src\//)
  const graph = folderImports(web, webFolderOf)
  expect(listed.length).toBeGreaterThan(10)
  expect(['', ...listed].sort()).toEqual([...graph.keys()].sort())
  expect(upwardImports(['', ...listed], graph)).toEqual([])
})

/** Tables that belong to the platform. */
const platformTables = [
  ...['schema_migrations', 'instance', 'idempotency_answers', 'audit_events'],
  ...['property_sets', 'property_indexes', 'property_entries', 'wakeups', 'events'],
]

test('the platform names no table of a resource or of identity in its SQL', () => {
  const tables = tablesOf('server/schema').filter((name) => !platformTables.includes(name))
  expect(tables).toEqual(expect.arrayContaining(['contacts', 'members', 'import_rows']))
  const named = new RegExp(`\\b(?:from|into|update|join|table|only)\\s+"?(${tables.join('|')})\\b`, 'gi')
  const namedIn = ({ path, texts }: Source) =>
    texts.flatMap((text) => [...text.matchAll(named)].map(([, table]) => `${path}: ${table}`))
  expect(product.filter(({ path }) => !isPlatform(path)).flatMap(namedIn).length).toBeGreaterThan(50)
  expect(product.filter(({ path }) => isPlatform(path)).flatMap(namedIn)).toEqual([])
})

test('the folder of a noun imports only the declaration and the store of another one', () => {
  const intrudes = (target: string, { path }: Source) => {
    const [mine, theirs] = [nounOf(path), nounOf(target)]
    const isForeign = mine !== undefined && theirs !== undefined && mine !== theirs
    return isForeign && !isAccess(target) && !/\/(?:resource|store)\.ts$/.test(target)
  }
  expect(violations(product, intrudes)).toEqual([])
})

test('SQL is written only in stores, the query compiler, the database platform and commands', () => {
  const allowedPaths = /^server\/src\/(?:cli|platform\/(?:records|database|model))\//
  const writers = product.filter(({ imports }) =>
    imports.some(({ target, values }) => target.endsWith('/model/sql.ts') && values.some((name) => name !== 'Sql')),
  )
  expect(writers.map(({ path }) => path).filter((path) => !allowedPaths.test(path) && !isStore(path))).toEqual([])
})

const distribution = 'server/src/platform/database/distribution/'

test('only these files outside of its folder show Citus, or that records may be on several servers', () => {
  const paths = new Set(product.map(({ path }) => path).filter((path) => !path.startsWith(distribution)))
  const words = /citus|distributed|shards?\b|coordinator|run_command_on_workers|pg_dist_/i
  const texts = readTexts(['server/src'], /\.ts$/).filter(({ path }) => paths.has(path))
  const mentioning = texts.filter(({ text }) => words.test(text)).map(({ path }) => path)
  const importing = product.filter(
    ({ path, imports }) => paths.has(path) && imports.some(({ target }) => target.startsWith(distribution)),
  )
  const shown = new Set([...mentioning, ...importing.map(({ path }) => path)])
  expect([...shown].map((path) => path.replace('server/src/', '')).sort()).toEqual([
    'cli/examine-cluster.ts',
    'cli/examine-maintenance.ts',
    'cli/migrate.ts',
    'cli/open.ts',
    'platform/database/database.ts',
    'platform/database/failures.ts',
    'platform/database/migrate.ts',
    'platform/operations/backup/restore.ts',
    'platform/operations/backup/take.ts',
    'platform/operations/maintenance/maintenance.ts',
    'platform/queue/wakeups.ts',
  ])
})

test('no store imports HTTP code, except the stores of the HTTP platform', () => {
  const isHttp = (target: string) =>
    target.startsWith('server/src/platform/http/') || /^(?:fastify|node:https?2?)$/.test(target)
  expect(
    violations(
      product.filter(({ path }) => isStore(path) && !path.startsWith('server/src/platform/http/')),
      isHttp,
    ),
  ).toEqual([])
})

test('the web application and the service do not import each other', () => {
  const isPackage = (target: string) => !/^(?:\.\.|server|lab|scripts|bin)\//.test(target)
  expect(violations(web, (target) => !isPackage(target))).toEqual([])
  expect(violations(sources, (target) => /^(?:web|@rapport)\//.test(target))).toEqual([])
})

test('product code imports neither tests nor development dependencies', () => {
  const isForTests = (target: string) =>
    target.endsWith('.test.ts') ||
    target.startsWith('server/test/') ||
    /^(?:vitest|fast-check|typescript)$/.test(target)
  expect(violations(product, isForTests)).toEqual([])
})

test('there are no import cycles between files, types included', () => {
  const all = [...sources, ...readSources(['web', 'scripts'], /\.(?:tsx?|mjs)$/)]
  const graph = new Map(all.map(({ path, imports }) => [path, imports.map(({ target }) => target)]))
  expect(graph.size).toBeGreaterThan(1500)
  expect(cyclesIn(graph)).toEqual([])
})

/** Each cycle, as `a → b → a`. */
function cyclesIn(graph: ReadonlyMap<string, Iterable<string>>): string[] {
  const visited = new Set<string>()
  const cycles: string[] = []
  const visit = (node: string, trail: readonly string[]): void => {
    if (trail.includes(node)) cycles.push([...trail.slice(trail.indexOf(node)), node].join(' → '))
    if (trail.includes(node) || visited.has(node)) return
    for (const target of graph.get(node) ?? []) visit(target, [...trail, node])
    visited.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return cycles
}

test('there is no `any`, no suppressed error and no default export', () => {
  const found = [...sources, ...web].flatMap(({ path, forbidden }) => forbidden.map((what) => `${path}: ${what}`))
  expect(found).toEqual([])
})

test('no file is longer than 400 lines, no function longer than 80, or 120 with JSX', () => {
  const all = [...sources, ...web]
  const sizes = all.map(({ path, lines }) => ({ path, lines })).sort((left, right) => right.lines - left.lines)
  for (const { path, lines } of sizes.filter((file) => file.lines > 300))
    console.info(`${path}: ${lines} lines; consider splitting it`)
  const functions = all.flatMap(({ path, functions: found }) =>
    found
      .filter(({ lines, hasMarkup }) => lines > (hasMarkup ? 120 : 80))
      .map(({ name, lines }) => `${path}: ${name}: ${lines} lines`),
  )
  expect([
    ...sizes.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines} lines`),
    ...functions,
  ]).toEqual([])
})

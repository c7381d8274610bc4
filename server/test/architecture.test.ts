import { expect, test } from 'vitest'
import { parseSource, readSources, type Source } from './sources.ts'

// The rules of docs/architecture.md, read from the imports themselves.
const sources = readSources(['server', 'bench', 'faults', 'fuzz', 'tools']).filter(
  ({ path }) => !path.startsWith('server/dist/'),
)
const product = sources.filter(({ path, isTest }) => !isTest && path.startsWith('server/src/'))

const isPlatform = (path: string) => path.startsWith('server/src/platform/')
const resourceOf = (path: string) => /^server\/src\/resources\/([^/]+)\//.exec(path)?.[1]
const isStore = (path: string) => /(?:^|[/-])store\.ts$/.test(path)

/** `file → import` for every import of these files that breaks the rule. */
const broken = (files: readonly Source[], breaks: (target: string, file: Source) => boolean): string[] =>
  files.flatMap((file) =>
    file.imports.filter(({ target }) => breaks(target, file)).map(({ target }) => `${file.path} → ${target}`),
  )

test('the rules below read the code: a check that sees nothing would pass everything', () => {
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

test('the reader of sources sees each kind of import and each thing that is forbidden', () => {
  const planted = parseSource(
    'server/src/planted.ts',
    `import { type Sql, sql } from './platform/database/sql.ts'
     import type { Caller } from './platform/access/caller.ts'
     export { startService } from './service.ts'
     const late = import('./log.ts')
     // @ts-${'ignore'}
     export default function (given: any) { return () => {
       given()
     } }`,
  )
  expect(planted.imports).toEqual([
    { target: 'server/src/platform/database/sql.ts', values: ['sql'], isTypeOnly: false },
    { target: 'server/src/platform/access/caller.ts', values: [], isTypeOnly: true },
    { target: 'server/src/service.ts', values: ['*'], isTypeOnly: false },
    { target: 'server/src/log.ts', values: ['*'], isTypeOnly: false },
  ])
  expect(planted.forbidden).toEqual(['a default export at line 6', 'any at line 6', '@ts-ignore at line 5'])
  expect(planted.functions.map(({ lines }) => lines)).toEqual([1, 3])
})

test('the platform knows neither a resource nor the composition', () => {
  const outside = (target: string) => target.startsWith('server/') && !isPlatform(target)
  expect(
    broken(
      product.filter(({ path }) => isPlatform(path)),
      outside,
    ),
  ).toEqual([])
})

test('a resource takes of another one its declaration and its store alone', () => {
  const intrudes = (target: string, { path }: Source) => {
    const [mine, theirs] = [resourceOf(path), resourceOf(target)]
    return mine !== undefined && theirs !== undefined && mine !== theirs && !/\/(?:resource|store)\.ts$/.test(target)
  }
  expect(broken(product, intrudes)).toEqual([])
})

test('SQL is written in stores, in the query compiler, in the platform of the database and in commands', () => {
  const places = /^server\/src\/(?:commands|platform\/(?:query|resource|database|access))\//
  const writers = product.filter(({ imports }) =>
    imports.some(({ target, values }) => target.endsWith('/database/sql.ts') && values.some((name) => name !== 'Sql')),
  )
  expect(writers.map(({ path }) => path).filter((path) => !places.test(path) && !isStore(path))).toEqual([])
})

test('a store knows of HTTP its errors alone; those of the HTTP platform are part of it', () => {
  const isHttp = (target: string) =>
    (target.startsWith('server/src/platform/http/') && !target.endsWith('/errors.ts')) ||
    /^(?:fastify|node:https?2?)$/.test(target)
  expect(
    broken(
      product.filter(({ path }) => isStore(path) && !path.startsWith('server/src/platform/http/')),
      isHttp,
    ),
  ).toEqual([])
})

test('nothing of the product imports a test or what only tests install', () => {
  const isForTests = (target: string) =>
    target.endsWith('.test.ts') ||
    target.startsWith('server/test/') ||
    /^(?:vitest|fast-check|typescript)$/.test(target)
  expect(broken(product, isForTests)).toEqual([])
})

test('no file reaches itself through its imports', () => {
  const next = new Map(
    product.map(({ path, imports }) => [
      path,
      imports.filter(({ isTypeOnly }) => !isTypeOnly).map(({ target }) => target),
    ]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const follow = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (way.includes(path) || done.has(path)) return
    for (const target of next.get(path) ?? []) follow(target, [...way, path])
    done.add(path)
  }
  for (const path of next.keys()) follow(path, [])
  expect(cycles).toEqual([])
})

test('there is no `any`, no silenced error and no default export', () => {
  const found = sources.flatMap(({ path, forbidden }) => forbidden.map((what) => `${path}: ${what}`))
  expect(found).toEqual([])
})

test('no file is longer than 400 lines, no function longer than 80', () => {
  const sizes = sources.map(({ path, lines }) => ({ path, lines })).sort((left, right) => right.lines - left.lines)
  for (const { path, lines } of sizes.filter((file) => file.lines > 300))
    console.info(`${path}: ${lines} lines; look again`)
  const functions = sources.flatMap(({ path, functions: all }) =>
    all.filter(({ lines }) => lines > 80).map(({ name, lines }) => `${path}: ${name}: ${lines} lines`),
  )
  expect([
    ...sizes.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines} lines`),
    ...functions,
  ]).toEqual([])
})

// Which test files a change concerns, for `npm test -- --changed`. In doubt, all.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './run.mjs'

/** Loaded in or before every test: a change there, or in what they import, concerns all tests. */
const loadedAlways = [
  'vitest.config.ts',
  'server/test/global-setup.ts',
  'server/test/inspect-statements.ts',
  'server/test/property-seed.ts',
]
/** Loaded with them for the names of the tables only: its modules concern the tests that import them. */
const listOfTables = 'server/src/places.ts'

/** They read every file of code. */
const ofAllSources = ['server/test/architecture.test.ts', 'server/test/language.test.ts']

const isTest = (path) => /\.test\.(?:ts|mjs)$/.test(path)
const isCode = (path) => /\.(?:ts|tsx|mjs)$/.test(path)
const isDocument = (path) => path.endsWith('.md') || path.startsWith('docs/')
const isOfApplication = (path) => path.startsWith('web/') && !path.startsWith('web/test/')
/** What a test consists of, in contrast to what it tests. */
const isOfTests = (path) => isTest(path) || /^(?:server\/test|web\/test|lab)\//.test(path)

/** The files that differ from where this branch left `main`, or on `main` itself from the last commit, and new ones. */
export function changedFiles(folder = root) {
  const git = (...parameters) => execFileSync('git', parameters, { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  const listed = (...parameters) =>
    git(...parameters)
      .split('\0')
      .filter(Boolean)
  const base = mergeBase(git)
  const differing = listed('diff', '--name-only', '--no-renames', '-z', base)
  return [...new Set([...differing, ...listed('ls-files', '--others', '--exclude-standard', '-z')])].sort()
}

function mergeBase(git) {
  try {
    return git('merge-base', 'HEAD', 'main').trim()
  } catch {
    return 'HEAD'
  }
}

/** The code of the project, by its path. */
export function readCode(folder = root) {
  const parameters = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const paths = execFileSync('git', parameters, { cwd: folder, encoding: 'utf8' }).split('\0')
  const present = paths.filter((path) => isCode(path) && existsSync(join(folder, path)))
  return new Map(present.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}

/** The test files that these changes concern; undefined for all. `code`: the text of each file of the project's code. */
export function concernedTests(changed, code) {
  const graph = importsOf(code)
  const always = new Set(
    loadedAlways.flatMap((path) => [...reachedFrom(path, graph, (reached) => reached !== listOfTables)]),
  )
  const tests = [...code.keys()].filter(isTest).map((path) => describeTest(path, graph, code))
  const concerned = new Set()
  for (const path of changed) {
    const found = always.has(path) ? undefined : testsOf(path, tests, code)
    if (found === undefined) return undefined
    for (const test of found) concerned.add(test.path)
  }
  return [...concerned].sort()
}

/** The tests that one changed file concerns; undefined for all. */
function testsOf(path, tests, code) {
  const named = (pattern) => tests.filter((test) => ofAllSources.includes(test.path) || pattern.test(test.text))
  if (isTest(path)) return tests.filter((test) => ofAllSources.includes(test.path) || test.path === path)
  if (isDocument(path)) return named(/\.md\b|\bdocs\b/)
  // The tests in a browser use what was built from it.
  if (isOfApplication(path))
    return [...named(/\bweb\//), ...tests.filter((test) => test.path.startsWith('web/') || test.reached.has(path))]
  const importing = tests.filter((test) => test.reached.has(path))
  const isKnown = /^(?:server\/(?:src|test)|web\/test|lab)\//.test(path) && code.has(path)
  if (!isKnown || importing.length === 0) return undefined
  return [...importing, ...tests.filter((test) => test.readsSources)]
}

function describeTest(path, graph, code) {
  const own = [...reachedFrom(path, graph, isOfTests)]
  return {
    path,
    reached: reachedFrom(path, graph),
    /** Its text, with that of its helpers. */
    text: own.map((one) => code.get(one)).join('\n'),
    readsSources: own.includes('server/test/sources.ts'),
  }
}

const importPattern = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g

const importsOf = (code) =>
  new Map(
    [...code].map(([path, text]) => [
      path,
      [...text.matchAll(importPattern)].map(([, target]) => resolved(join(dirname(path), target), code)),
    ]),
  )

/** The web application's modules import each other without an extension. */
const resolved = (path, code) =>
  [path, `${path}.ts`, `${path}.tsx`, join(path, 'index.ts')].find((one) => code.has(one)) ?? path

/** The file and what it imports, directly or not; only through files that match. */
function reachedFrom(path, graph, matches = () => true) {
  const reached = new Set()
  const pending = [path]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (reached.has(next) || !matches(next)) continue
    reached.add(next)
    pending.push(...(graph.get(next) ?? []))
  }
  return reached
}

// `npm run check-dependencies`: checks that all components are within the time frames of SECURITY.md. It queries the
// registry, so it is not part of `npm test`. Exit code 1: something is overdue; 2: the registry did not respond.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exit } from './exit.mjs'
import { root } from './run.mjs'

/** Days within which a release must be adopted and a known vulnerability fixed, as in SECURITY.md. */
export const days = { release: 30, vulnerability: { critical: 7, other: 30 } }

/** Components that are held back on purpose, with the reason. See decision 8. */
export const heldBack = {
  typescript: 'version 7 has no compiler API',
  oxlint: 'later versions write lockfiles that npm ci refuses',
  oxfmt: 'later versions write lockfiles that npm ci refuses',
  openai: 'version 7 needs Node 22',
  // A dependency of Fastify. Listed directly so that `npm pack`'s package, which has no lockfile, gets this version
  // too.
  'light-my-request': 'later versions need Node 22, because of cookie 2',
  '@types/node': 'describes the oldest Node that is supported',
}

/** The rank of a release, above all of its betas. */
const maxBeta = 1_000_000

const day = 24 * 60 * 60 * 1000

/**
 * 0 if equal, negative if the left one is older; undefined unless both have the form 1.2.3 or, like all releases of the
 * embedded PostgreSQL, 1.2.3-beta.4. A release follows its own beta versions.
 */
export function compareVersions(left, right) {
  const parts = (text) => /^(\d+)\.(\d+)\.(\d+)(?:-beta\.(\d+))?$/.exec(text)?.slice(1)
  const [one, two] = [left, right].map((text) => parts(text)?.map((part) => Number(part ?? maxBeta)))
  if (!one || !two) return undefined
  return one.map((part, index) => part - two[index]).find((difference) => difference !== 0) ?? 0
}

/** Days since the first release that is newer than `current` and not newer than `target`, or 0. */
export function daysBehind({ current, target, times, now }) {
  const missed = Object.entries(times).filter(
    ([version]) => compareVersions(version, current) > 0 && compareVersions(version, target) <= 0,
  )
  const first = Math.min(...missed.map(([, time]) => Date.parse(time)))
  return missed.length === 0 ? 0 : Math.floor((now - first) / day)
}

/**
 * Packages of `npm outdated --all --json` that could be newer: direct dependencies in any version, others within their
 * range.
 */
export function outdatedOf(output, direct) {
  const behind = new Map()
  for (const [name, found] of Object.entries(output)) {
    for (const { current, wanted, latest } of [found].flat()) {
      const target = direct.has(name) ? latest : wanted
      if (current !== undefined && compareVersions(current, target) < 0) behind.set(name, { name, current, target })
    }
  }
  return [...behind.values()]
}

/**
 * Returns a line for each overdue and each held-back component. `npm` runs npm and resolves to its parsed JSON output.
 */
export async function examine({ npm, direct, now }) {
  const [overdue, held] = [[], []]
  for (const { name, current, target } of outdatedOf(await npm('outdated', '--all'), direct)) {
    const behind = daysBehind({ current, target, times: await npm('view', name, 'time'), now })
    const line = `${name} ${current}: ${target} is available; the first newer release is ${behind} days old`
    if (heldBack[name] !== undefined) held.push(`${line} (held back: ${heldBack[name]})`)
    else if (behind > days.release) overdue.push(line)
  }
  const { vulnerabilities } = await npm('audit')
  // The registry does not say when a vulnerability became known: count from the day on which the line first appears.
  for (const { name, severity } of Object.values(vulnerabilities ?? {})) {
    const limit = severity === 'critical' ? days.vulnerability.critical : days.vulnerability.other
    overdue.push(`${name}: known vulnerability (${severity}), to be fixed within ${limit} days`)
  }
  return { overdue, held, hasAdvisories: vulnerabilities !== undefined }
}

/**
 * npm prints JSON whatever its exit code; it exits with 1 when something is outdated. Rejects if the output is not
 * JSON.
 */
const runNpm = (...args) =>
  new Promise((resolve, reject) => {
    execFile('npm', [...args, '--json'], { cwd: root, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => {
      try {
        const output = JSON.parse(stdout || '{}')
        if (output.error && args[0] !== 'audit') reject(new Error(output.error.summary || 'npm failed'))
        else resolve(output)
      } catch (error) {
        reject(error)
      }
    })
  })

async function main() {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const direct = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }))
  const found = await examine({ npm: runNpm, direct, now: Date.now() }).catch(({ message }) => {
    console.error(`The registry could not be queried: ${message}`)
    return exit(2)
  })
  for (const line of found.held) console.log(`  ${line}`)
  for (const line of found.overdue) console.log(`OVERDUE ${line}`)
  if (!found.hasAdvisories) console.log('The registry returned no advisories: known vulnerabilities were not checked.')
  console.log(found.overdue.length === 0 ? 'No component is overdue.' : `${found.overdue.length} overdue.`)
  process.exitCode = found.overdue.length > 0 ? 1 : found.hasAdvisories ? 0 : 2
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()

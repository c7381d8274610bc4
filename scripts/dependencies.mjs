// `npm run dependencies`: are all components within the time frames of SECURITY.md? Asks the registry, so it is no part
// of `npm test`. Exit code 1: something is overdue; 2: the registry did not answer.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exit } from './exit.mjs'
import { root } from './run.mjs'

/** Days within which a release is taken, and a known weakness is gone; SECURITY.md says the same. */
export const days = { release: 30, weakness: { critical: 7, other: 30 } }

/** Components that stay behind on purpose, each with the reason; decision 8 says more. */
export const heldBack = {
  typescript: 'version 7 has no compiler API',
  oxlint: 'later versions write lockfiles that npm ci refuses',
  '@types/node': 'describes the oldest Node that is supported',
}

const day = 24 * 60 * 60 * 1000

/** `0` when equal, negative when the left one is older; undefined for what is not of the form 1.2.3. */
export function compareVersions(left, right) {
  const [one, two] = [left, right].map((text) => /^(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number))
  if (!one || !two) return undefined
  return one.map((part, index) => part - two[index]).find((difference) => difference !== 0) ?? 0
}

/** Days since the first release that is newer than `current` and not newer than `target`; 0 when there is none. */
export function daysBehind({ current, target, times, now }) {
  const missed = Object.entries(times).filter(
    ([version]) => compareVersions(version, current) > 0 && compareVersions(version, target) <= 0,
  )
  const first = Math.min(...missed.map(([, time]) => Date.parse(time)))
  return missed.length === 0 ? 0 : Math.floor((now - first) / day)
}

/** Of `npm outdated --all --json`, what could be newer: a direct dependency in any version, another one in its range. */
export function outdatedOf(answer, direct) {
  const behind = new Map()
  for (const [name, found] of Object.entries(answer)) {
    for (const { current, wanted, latest } of [found].flat()) {
      const target = direct.has(name) ? latest : wanted
      if (current !== undefined && compareVersions(current, target) < 0) behind.set(name, { name, current, target })
    }
  }
  return [...behind.values()]
}

/** What is overdue, in sentences, and what is held back. `npm` runs npm and gives the parsed JSON of its answer. */
export async function examine({ npm, direct, now }) {
  const [overdue, held] = [[], []]
  for (const { name, current, target } of outdatedOf(await npm('outdated', '--all'), direct)) {
    const behind = daysBehind({ current, target, times: await npm('view', name, 'time'), now })
    const line = `${name} ${current}: ${target} is out, and the first newer release for ${behind} days`
    if (heldBack[name] !== undefined) held.push(`${line} (held back: ${heldBack[name]})`)
    else if (behind > days.release) overdue.push(line)
  }
  const { vulnerabilities } = await npm('audit')
  // The registry does not say since when it knows: whoever sees the line counts from the day it first appeared.
  for (const { name, severity } of Object.values(vulnerabilities ?? {})) {
    const frame = severity === 'critical' ? days.weakness.critical : days.weakness.other
    overdue.push(`${name}: known weakness (${severity}), to be gone within ${frame} days`)
  }
  return { overdue, held, hasAdvisories: vulnerabilities !== undefined }
}

/** Its answer is JSON whatever its exit code; npm exits with 1 when something is outdated. Error: no JSON came. */
const runNpm = (...words) =>
  new Promise((resolve, reject) => {
    execFile('npm', [...words, '--json'], { cwd: root, maxBuffer: 64 * 1024 * 1024 }, (_error, output) => {
      try {
        const answer = JSON.parse(output || '{}')
        if (answer.error && words[0] !== 'audit') reject(new Error(answer.error.summary || 'npm failed'))
        else resolve(answer)
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
    console.error(`The registry could not be asked: ${message}`)
    return exit(2)
  })
  for (const line of found.held) console.log(`  ${line}`)
  for (const line of found.overdue) console.log(`OVERDUE ${line}`)
  if (!found.hasAdvisories) console.log('The registry gave no advisories: known weaknesses were not checked.')
  console.log(found.overdue.length === 0 ? 'No component is overdue.' : `${found.overdue.length} overdue.`)
  process.exitCode = found.overdue.length > 0 ? 1 : found.hasAdvisories ? 0 : 2
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()

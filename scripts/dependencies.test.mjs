import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compareVersions, days, daysBehind, examine, heldBack } from './dependencies.mjs'
import { root } from './run.mjs'

const now = Date.parse('2026-11-23T00:00:00Z')
const daysAgo = (count) => new Date(now - count * 24 * 60 * 60 * 1000).toISOString()

test('a component counts as behind since the first release that was missed, not since the last', () => {
  const times = { created: daysAgo(900), '1.0.0': daysAgo(500), '1.0.1': daysAgo(40), '1.1.0': daysAgo(2) }
  const behind = (current, target) => daysBehind({ current, target, times, now })
  expect(behind('1.0.0', '1.1.0')).toBe(40)
  expect(behind('1.0.1', '1.1.0')).toBe(2)
  expect(behind('1.1.0', '1.1.0')).toBe(0)
  const early = { ...times, '2.0.0-rc.1': daysAgo(300), '2.0.0': daysAgo(10) }
  expect(daysBehind({ current: '1.1.0', target: '2.0.0', times: early, now })).toBe(10)
  expect(['1.10.0', '1.9.9'].map((version) => compareVersions(version, '1.9.10') > 0)).toEqual([true, false])
})

/** A registry with these answers to `npm outdated` and `npm audit`, and each package's releases. */
const registry = (outdated, times, audit) => async (command, name) => {
  if (command === 'outdated') return outdated
  return command === 'view' ? times[name] : audit
}

test('what has been behind for longer than SECURITY.md allows is overdue, and every known weakness is told', async () => {
  const outdated = {
    pino: { current: '10.4.0', wanted: '10.4.0', latest: '11.0.0' },
    pg: { current: '8.23.1', wanted: '8.23.1', latest: '8.23.2' },
    // Not ours to raise beyond what its dependants take.
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
    'pino 10.4.0: 11.0.0 is out, and the first newer release for 31 days',
    'deep 1.0.0: 1.2.0 is out, and the first newer release for 200 days',
    'bad: known weakness (critical), to be gone within 7 days',
    'poor: known weakness (low), to be gone within 30 days',
  ])
  expect(found.held).toEqual([expect.stringContaining('held back: version 7 has no compiler API')])
  expect(found.hasAdvisories).toBe(true)
})

test('a registry that gives no advisories is not taken for one that knows of none', async () => {
  const npm = registry({}, {}, { message: '405 Method Not Allowed' })
  expect(await examine({ npm, direct: new Set(), now })).toEqual({ overdue: [], held: [], hasAdvisories: false })
})

test('SECURITY.md names the same time frames, and everything that is held back is a dependency', () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8').replaceAll(/\s+/g, ' ')
  expect(text).toContain(`within ${days.release} days of its release`)
  expect(text).toContain(`within ${days.weakness.critical} days when it is critical`)
  expect(text).toContain(`within ${days.weakness.other} days otherwise`)
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const known = Object.keys({ ...dependencies, ...devDependencies })
  expect(Object.keys(heldBack).filter((name) => !known.includes(name))).toEqual([])
})

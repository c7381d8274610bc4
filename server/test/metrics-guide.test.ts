import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { createMetrics } from '../src/platform/http/metrics.ts'

const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

let metricsText: string
beforeAll(async () => {
  const queue = { length: 1, lagSeconds: 1 }
  const all = createMetrics({
    version: '1.2.3',
    pool: () => ({ total: 1, idle: 1, waiting: 0 }),
    installation: {
      alarms: { refusing: async () => 1, nearLimit: async () => 1, optingOut: async () => 1 },
      measure: async () => ({
        queues: { imports: queue, notes: queue, mails: queue },
        mails: { sent: 1, failed: 0, kept: 0, dropped: 0 },
        databaseBytes: 1,
        lastBackupAt: new Date(),
        freeBytes: 1,
      }),
    },
  })
  all.observe('GET', '/v5/contacts', 200, 0.01)
  metricsText = await all.text()
})

const namesIn = (text: string): string[] => [...new Set(text.match(/\brapport_[a-z0-9_]+/g) ?? [])].sort()
/** A histogram is documented once; its series end in `_bucket`, `_count` and `_sum`. */
const documentedNames = () => namesIn([...metricsText.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name).join(' '))
const seriesNames = () => namesIn(metricsText.replaceAll(/^#.*$/gm, ''))

/** prom-client reads these from /proc, which other systems lack. */
const linuxOnly = /_(fds|heap_bytes|virtual_memory_bytes)$/

test('the guide explains every metric that /metrics exposes, and no other', async () => {
  const guide = await read('docs/guides/metrics.md')
  const documented = [...guide.matchAll(/^\| `(rapport_[a-z0-9_]+)`/gm)].map(([, name = '']) => name)
  const present = documented.filter((name) => process.platform === 'linux' || !linuxOnly.test(name))
  expect(present.sort()).toEqual(documentedNames())
})

test('the alerts in the guide use existing metrics', async () => {
  const [, alerts = ''] = /```yaml\n(.*?)```/s.exec(await read('docs/guides/metrics.md')) ?? []
  expect(namesIn(alerts).length).toBeGreaterThan(3)
  expect(namesIn(alerts).filter((name) => !seriesNames().includes(name))).toEqual([])
})

interface Dashboard {
  panels: { id: number; type: string; title: string; gridPos: object; targets: { expr: string }[] }[]
  templating: { list: { name: string; query: string | { query: string } }[] }
}

test('the Grafana dashboard is importable and uses existing metrics and variables', async () => {
  const text = await read('docs/grafana/rapport.json')
  const { panels, templating }: Dashboard = JSON.parse(text)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(panels.filter(({ title, gridPos, targets }) => !title || !gridPos || targets.length === 0)).toEqual([])
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join(' ')
  const variables = templating.list.map(({ query }) => JSON.stringify(query)).join(' ')
  const used = namesIn(`${expressions} ${variables}`)
  expect(used.length).toBeGreaterThan(5)
  // A counter without an increment has no series yet, so its declaration counts too.
  const known = [...seriesNames(), ...documentedNames()]
  expect(used.filter((name) => !known.includes(name))).toEqual([])
  const defined = templating.list.map(({ name }) => name)
  const named = [...text.matchAll(/\$\{?([a-z_]+)/g)].map(([, name = '']) => name)
  expect(named.filter((name) => !defined.includes(name) && !name.startsWith('__'))).toEqual([])
})

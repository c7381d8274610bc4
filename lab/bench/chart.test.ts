import { expect, test } from 'vitest'
import { drawChart } from './chart.ts'
import type { Figures, Report, Row } from './report.ts'

const figures = (perSecond: number): Figures => ({ perSecond, p50: 1, p99: 2, serviceCpu: 1, databaseCpu: 1 })
const row = (name: string, connections: number, floor: Figures | null): Row => ({
  name,
  connections,
  service: figures(100),
  floor,
  driver: null,
  ratio: null,
  memory: [1, 1],
  databaseMemory: 1,
})
const reportOf = (rows: Row[]) =>
  ({ takenAt: '2026-11-22T00:00:00.000Z', options: { contacts: 1000 }, rows }) as unknown as Report

test('a chart shows each row that has a floor at 16 connections, and its text is escaped', () => {
  const chart = drawChart(
    reportOf([
      row('get <one>', 16, figures(1000)),
      row('get <one>', 1, figures(500)),
      row('rows processed', 16, null),
      row('create', 16, figures(200)),
    ]),
  )
  expect(chart).toContain('16 connections, 1,000 contacts')
  expect(chart?.match(/<rect class="service" x="230"/g)).toHaveLength(2)
  expect(chart).toContain('get &lt;one&gt;')
  expect(chart).not.toMatch(/NaN|undefined|Infinity/)
  expect(drawChart(reportOf([row('rows processed', 16, null)]))).toBeUndefined()
})

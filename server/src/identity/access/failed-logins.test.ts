import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFailedLogins } from './failed-logins.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

function watched() {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, failures: createFailedLogins(log) }
}

test('the first failure of an address is logged immediately, the rest of the minute in one line', () => {
  const { lines, failures } = watched()
  const since = new Date().toISOString()
  for (let index = 0; index < 20; index++) {
    failures.record({ address: '203.0.113.7', account: `account ${index % 15}`, isRefused: index >= 18 })
  }
  failures.record({ address: '203.0.113.8', account: 'account 0', isRefused: false })
  expect(lines).toMatchObject([
    { address: '203.0.113.7', msg: 'a login failed', time: expect.any(Number) },
    { address: '203.0.113.8', msg: 'a login failed' },
  ])
  vi.advanceTimersByTime(60_000)
  // An address that failed only once needs no second line.
  expect(lines.slice(2)).toMatchObject([
    { address: '203.0.113.7', failed: 18, refused: 2, accounts: 15, since, msg: 'logins failed from one address' },
  ])
  failures.record({ address: '203.0.113.7', account: 'account 0', isRefused: false })
  expect(lines[3]).toMatchObject({ address: '203.0.113.7', msg: 'a login failed' })
})

test('a flood from many addresses is counted without filling the log or the memory', () => {
  const { lines, failures } = watched()
  for (let index = 0; index < 50_000; index++) {
    failures.record({ address: `address ${index}`, account: `account ${index}`, isRefused: false })
  }
  expect(lines).toHaveLength(100)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(101)
  expect(lines[100]).toMatchObject({ failed: 49_900, msg: 'logins failed from more addresses' })
})

test('the counts are logged when the service stops', () => {
  const { lines, failures } = watched()
  for (const account of ['one', 'two']) failures.record({ address: '203.0.113.7', account, isRefused: false })
  failures.close()
  expect(lines[1]).toMatchObject({ failed: 2, accounts: 2 })
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(2)
})

import { pino } from 'pino'
import { expect, test } from 'vitest'
import { inWords } from './log.ts'

test('on a terminal a line of the log is a time, a message and what belongs to it', () => {
  const lines: string[] = []
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => void lines.push(inWords(line)) },
  )
  log.info({ route: '/v5/contacts', status: 200 }, 'request')
  log.warn('The database ended unexpectedly; bringing it back.')
  log.error({ err: new Error('broken') }, 'internal_error')
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d request route=\/v5\/contacts status=200$/)
  expect(lines[1]).toMatch(/^\d\d:\d\d:\d\d WARN The database ended unexpectedly; bringing it back\.$/)
  expect(lines[2]).toMatch(/ERROR internal_error\nError: broken\n/)
})

import { expect, onTestFinished, test } from 'vitest'
import { reservePort } from './reserved-port.ts'

test('while the service starts, programs get a 503 as JSON and browsers a page', async () => {
  const reserved = await reservePort(0, '127.0.0.1')
  onTestFinished(() => reserved.release())
  const ask = (accept: string) => fetch(`http://127.0.0.1:${reserved.port}/`, { headers: { accept } })
  const [forProgram, forBrowser] = await Promise.all([ask('*/*'), ask('text/html,*/*;q=0.8')])
  expect([forProgram.status, forProgram.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await forProgram.json()).toMatchObject({ code: 'overloaded', status: 503 })
  expect([forBrowser.status, forBrowser.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
  const page = await forBrowser.text()
  expect(page).toContain('The service is starting.')
  // The browser asks again by itself.
  expect([forProgram.headers.get('refresh'), forBrowser.headers.get('refresh')]).toEqual([null, '2'])
  expect(page).toContain(`<code>${forBrowser.headers.get('x-request-id')}</code>`)
})

import { expect, test } from 'vitest'
import { openRaw } from '../../../../test/raw-http.ts'
import { startTestService } from '../../../../test/service.ts'

// Node would wait a minute for its first request.
test('a connection that a browser opened in advance does not keep the service from stopping', async () => {
  const service = await startTestService()
  const unused = await openRaw(service.url)
  await service.close()
  await unused.closed
  expect(unused.bytes().length).toBe(0)
}, 20_000)

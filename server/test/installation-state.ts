import type { Call, Json } from './service.ts'
import { until } from './processes.ts'

/**
 * What `GET /v5/system` says once the checks have run: a request does not wait for slow ones, and says that they are
 * still running instead.
 */
export async function examinedState(call: Call): Promise<Json> {
  let state: Json
  await until(
    'the checks have run',
    async () => {
      state = (await call('GET', '/v5/system')).body
      return !state.findings.some(({ name }: Json) => name === 'checks')
    },
    30_000,
  )
  return state
}

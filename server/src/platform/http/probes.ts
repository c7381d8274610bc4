import { ApiError } from '../model/errors.ts'
import type { ProbeRoute } from './route.ts'
import type { JsonObject } from '../model/json.ts'

const probe = {
  kind: 'probe',
  method: 'GET',
  tag: 'health',
  params: {},
  query: { kind: 'none' },
} satisfies Partial<ProbeRoute>

const statusResponse = (status: string, more: Record<string, JsonObject> = {}): ProbeRoute['responses'] => ({
  200: {
    kind: 'schema',
    component: `Status${status.charAt(0).toUpperCase()}${status.slice(1)}`,
    schema: {
      type: 'object',
      required: ['status'],
      additionalProperties: false,
      properties: { status: { type: 'string', const: status }, ...more },
    },
  },
})

export const probeRoutes: readonly ProbeRoute[] = [
  {
    ...probe,
    path: '/healthz',
    operation: 'getHealth',
    summary: 'Check that the process is running',
    responses: statusResponse('ok'),
    status: 'ok',
    check: async () => ({}),
  },
  {
    ...probe,
    path: '/readyz',
    operation: 'getReadiness',
    summary: 'Check that the service can take requests',
    description: 'Returns 503 while the service is starting or stopping, or cannot reach its database.',
    responses: statusResponse('ready', {
      changes: {
        type: 'string',
        const: 'waiting',
        description: 'Present while a session of the database blocks changes; the log and `rapport doctor` name it.',
      },
    }),
    status: 'ready',
    async check({ database, areChangesWaiting }, isReady) {
      if (!isReady()) throw notReady()
      await database.ping()
      return areChangesWaiting() ? { changes: 'waiting' } : {}
    },
  },
]

const notReady = () =>
  new ApiError('overloaded', 'The service is starting or stopping.', { headers: { 'retry-after': '1' } })

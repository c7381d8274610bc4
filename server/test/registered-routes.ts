import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { readWebApplication } from '../src/platform/http/pages/web-files.ts'
import { webFolder } from '../src/release.ts'
import { startTestService, type TestService } from './service.ts'

/**
 * Starts a service and returns what its router registers, such as `GET /v5/contacts/{contactId}`, except files and guides.
 * The router also has methods of known paths that are rejected with 405.
 */
export async function startWithRegisteredRoutes(): Promise<{ service: TestService; registered: readonly string[] }> {
  const registered: string[] = []
  const record = (message: unknown) =>
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat()) registered.push(`${name} ${url.replace(/:(\w+)/g, '{$1}')}`)
    })
  subscribe('fastify.initialization', record)
  const service = await startTestService().finally(() => unsubscribe('fastify.initialization', record))
  const { files } = readWebApplication(webFolder)
  return {
    service,
    registered: registered
      .filter((route) => /^(?:GET|POST|PATCH|DELETE) /.test(route))
      .filter((route) => !files.has(route.replace('GET ', '')) && !/^GET \/(?:docs|assets\/)/.test(route)),
  }
}

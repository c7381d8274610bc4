import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The bundle that the service and the command line run. */
export const bundle = join(root, 'server/dist/rapport.js')

/** The thread of the service that reads notes. Alone, because it starts in a fifth of the time. */
export const rulesBundle = join(root, 'server/dist/rules.js')

/** The OpenAPI document, for tools that need a file. A running service has it at `/v5/docs`. */
export const documentFile = join(root, 'openapi.json')

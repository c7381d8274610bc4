import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The bundle that the service and the command line run. */
export const bundle = join(root, 'server/dist/rapport.js')

/** The service's thread that analyses notes. A separate bundle, because it starts in a fifth of the time. */
export const rulesBundle = join(root, 'server/dist/rules.js')

/** The OpenAPI document as a file, for tools. A running service serves it at `/v5/docs`. */
export const documentFile = join(root, 'openapi.json')

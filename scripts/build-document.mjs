// Writes openapi.json, the OpenAPI document of the service that was just built. A separate process, because the routes
// would stay in the memory of a service that starts after the build.
import { pathToFileURL } from 'node:url'
import { notWritable, writeAtomically } from './built-files.mjs'
import { bundle, documentFile } from './bundle.mjs'
import { exit } from './exit.mjs'
import { isReadOnly } from './lock.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

await exitOnRefusal(async () => {
  const service = await import(pathToFileURL(bundle).href)
  try {
    writeAtomically(documentFile, await service.apiDocument())
  } catch (error) {
    throw isReadOnly(error) ? notWritable(root, error) : error
  }
})
await exit(0)

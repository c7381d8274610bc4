// A thread of a service that reads notes: runs the bundle of the service and never builds.
import { bundle } from './bundle.mjs'
import { pathToFileURL } from 'node:url'

const { serveRules } = await import(pathToFileURL(bundle).href)
await serveRules()

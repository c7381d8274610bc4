// A worker process of a service with PROCESSES above 1: runs the bundle of its primary and never builds.
import { bundle } from './bundle.mjs'
import { exit } from './exit.mjs'
import { pathToFileURL } from 'node:url'

const { serveAsWorker } = await import(pathToFileURL(bundle).href)
await exit(await serveAsWorker())

// A worker process of a service with several: runs the bundle that its primary runs, and never builds.
import { bundle } from './build.mjs'
import { exit } from './exit.mjs'
import { pathToFileURL } from 'node:url'

const { serveAsWorker } = await import(pathToFileURL(bundle).href)
await exit(await serveAsWorker())

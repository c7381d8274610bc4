// `npm start`: installs and builds what is missing, then runs the service in this process, so that signals reach it.
import './node-version.mjs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { bundle } from './bundle.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { announceRunning } from './lock.mjs'
import { exitOnRefusal } from './refusal.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const log = (line) => console.error(line)
await exitOnRefusal(async () => {
  await ensureInstalled(root, { development: false, log })
  announceRunning(root)
  await build({ log })
})
const { main } = await import(pathToFileURL(bundle).href)
await exit(await main(['start', ...process.argv.slice(2)]))

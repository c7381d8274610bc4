// `npm start`: whatever a fresh clone lacks, then the service, in this very process so that signals reach it.
import './node-version.mjs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, bundle } from './build.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { announceRunning } from './lock.mjs'
import { refusing } from './refusal.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const say = (line) => console.error(line)
await refusing(async () => {
  await ensureInstalled(root, { development: false, say })
  announceRunning(root)
  await build({ say })
})
const { main } = await import(pathToFileURL(bundle).href)
await exit(await main(['start', ...process.argv.slice(2)]))

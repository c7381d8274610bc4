// `npm run faults`: breaks what the service stands on and looks at the data; docs/reliability.md says why.
import './node-version.mjs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, bundleTo } from './build.mjs'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root } from './run.mjs'

const bundle = join(root, 'server/dist/faults.js')
await refusing(async () => {
  await ensureInstalled(root, { development: false, say: console.error })
  await build({ say: console.error })
  await bundleTo(join(root, 'faults/main.ts'), bundle)
})
const { main } = await import(pathToFileURL(bundle).href)
process.exit(await main(process.argv.slice(2), root))

// `npm run generate`: writes the files that follow from the code (server/src/generate.ts lists them).
import './node-version.mjs'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleTo } from './build.mjs'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root } from './run.mjs'

const bundle = join(root, `server/dist/generate-${process.pid}.js`)
await refusing(async () => {
  await ensureInstalled(root, { development: true, say: console.log })
  await bundleTo(join(root, 'server/src/generate.ts'), bundle)
})
try {
  const { generate } = await import(pathToFileURL(bundle).href)
  for (const line of await generate(root)) console.log(line)
} finally {
  for (const file of [bundle, `${bundle}.map`]) rmSync(file, { force: true })
}

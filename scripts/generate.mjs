// `npm run generate`: writes the generated files (see server/src/generate.ts).
// `npm run generate -- migration <name>`: writes the migration that the declarations require.
// `npm run generate -- check`: reports generated files and migrations that differ from the code.
import './node-version.mjs'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { writeApiTypes } from './api-types.mjs'
import { bundleTo } from './build.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

const [command, name, ...rest] = process.argv.slice(2)
const isKnown = command === undefined || command === 'check' || (command === 'migration' && name !== undefined)
if (!isKnown || rest.length > 0 || (name !== undefined && command !== 'migration')) {
  console.error('Usage: npm run generate [-- migration <name> | -- check]')
  await exit(2)
}

const bundle = join(root, `server/dist/generate-${process.pid}.js`)
await exitOnRefusal(async () => {
  await ensureInstalled(root, { development: true, log: console.log })
  await bundleTo(join(root, 'server/src/generate.ts'), bundle)
})
try {
  const { findDrift, generate, generateMigration } = await import(pathToFileURL(bundle).href)
  if (command === 'migration') {
    const written = await generateMigration(root, name)
    if (written === undefined) {
      console.error('Nothing to write: the migrations match the declarations.')
      process.exitCode = 1
    }
    for (const line of written ?? []) console.log(line)
  } else if (command === 'check') {
    const drift = await findDrift(root)
    for (const line of drift) console.error(line)
    if (drift.length > 0) process.exitCode = 1
  } else {
    for (const line of await generate(root)) console.log(line)
    await writeApiTypes()
  }
} finally {
  for (const file of [bundle, `${bundle}.map`]) rmSync(file, { force: true })
}

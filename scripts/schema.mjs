// `npm run schema`: prints the schema that the files of server/schema create.
import './node-version.mjs'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleTo } from './build.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

const usage = `Usage: npm run --silent schema [> file]

Prints the current schema as one SQL file: what the files of server/schema create in an empty database. A temporary
PostgreSQL is started for it; no service has to run. The files themselves explain the tables.`

const given = process.argv.slice(2)
if (given.length > 0) {
  const isHelp = given.length === 1 && given[0] === '--help'
  ;(isHelp ? console.log : console.error)(usage)
  await exit(isHelp ? 0 : 2)
}

const bundle = join(root, `server/dist/schema-${process.pid}.js`)
await exitOnRefusal(async () => {
  await ensureInstalled(root, { development: true, log: console.error })
  await bundleTo(join(root, 'server/src/generate.ts'), bundle)
})
try {
  const { currentSchema } = await import(pathToFileURL(bundle).href)
  process.stdout.write(await currentSchema(root))
} finally {
  for (const file of [bundle, `${bundle}.map`]) rmSync(file, { force: true })
}

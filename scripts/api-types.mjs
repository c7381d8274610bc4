// The types of the API for the web application, generated from openapi.json. Not committed; written when they change.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildService } from './build.mjs'
import { documentFile } from './bundle.mjs'
import { Refusal } from './refusal.mjs'
import { root } from './run.mjs'

const file = join(root, 'web/src/api/openapi.d.ts')

/** Writes web/src/api/openapi.d.ts, unless it matches the current code's document, which is built first. */
export async function writeApiTypes() {
  await buildService({ log: () => undefined })
  const text = readFileSync(documentFile, 'utf8')
  const firstLine = `// Generated from openapi.json (${createHash('sha256').update(text).digest('hex')}); do not edit.\n`
  if (readText(file)?.startsWith(firstLine)) return
  // Only development has this package.
  const { default: typesOf, astToString } = await import('openapi-typescript')
  const types = astToString(await typesOf(JSON.parse(text)))
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, firstLine + types)
  } catch (error) {
    throw new Refusal(`${file} has to be generated, but cannot be written (${error.code}).`)
  }
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

// The types of the API for the web application, generated from openapi.json: not committed, written when it changed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Refusal } from './refusal.mjs'
import { root } from './run.mjs'

const document = join(root, 'openapi.json')
const file = join(root, 'web/src/api/openapi.d.ts')

/** Writes web/src/api/openapi.d.ts, unless it was generated from the current openapi.json. */
export async function writeApiTypes() {
  const text = readFileSync(document, 'utf8')
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

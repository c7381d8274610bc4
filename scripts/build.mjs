import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isReadOnly } from './lock.mjs'
import { Refusal, refusing } from './refusal.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sources = join(root, 'server/src')
const output = join(root, 'server/dist')
const stamp = join(output, 'build.json')

/** The bundle that the service and the command line run. */
export const bundle = join(output, 'rapport.js')

/** Bundles server/src/main.ts unless the last bundle was made of the same sources. `say` gets one line. */
export async function build({ say }) {
  const hash = hashOfSources()
  if (readStamp() === hash) {
    say('Nothing changed since the last build.')
    return
  }
  const began = performance.now()
  try {
    await bundleTo(join(sources, 'main.ts'), bundle)
    place(stamp, JSON.stringify({ hash }))
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw new Refusal(`The code has to be built, but ${output} cannot be written to by this user (${error.code}).`)
  }
  say(`Built in ${Math.round(performance.now() - began)} ms.`)
}

/**
 * Bundles one entry point, packages left outside. What is imported when it is needed becomes a file beside it, so that a
 * command loads what it uses alone. Each file appears complete or not at all, the entry last.
 */
export async function bundleTo(entry, file) {
  const esbuild = await import('esbuild')
  const name = basename(file, '.js')
  const { outputFiles } = await esbuild
    .build({
      absWorkingDir: root,
      entryPoints: [entry],
      outdir: dirname(file),
      entryNames: name,
      chunkNames: `${name}.[name]-[hash]`,
      bundle: true,
      splitting: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      sourcemap: true,
      logLevel: 'error',
    })
    .catch((error) => {
      throw error.errors ? new Refusal('The build failed; the reasons are above.') : error
    })
  // Its helper process would live as long as the service that was built.
  await esbuild.stop()
  mkdirSync(dirname(file), { recursive: true })
  const entryLast = outputFiles.sort((one, other) => Number(one.path === file) - Number(other.path === file))
  for (const { path, contents } of entryLast) place(path, contents)
  const made = new Set(outputFiles.map(({ path }) => basename(path)))
  for (const old of readdirSync(dirname(file)))
    if (old.startsWith(`${name}.`) && !made.has(old) && /\.js(?:\.map)?$/.test(old)) rmSync(join(dirname(file), old))
}

function place(file, content) {
  const making = `${file}.${process.pid}`
  try {
    writeFileSync(making, content)
    renameSync(making, file)
  } finally {
    rmSync(making, { force: true })
  }
}

/** Contents, not times: a checkout or a copy changes those without changing anything. */
function hashOfSources() {
  const hash = createHash('sha256')
  const files = readdirSync(sources, { recursive: true })
    .map(String)
    .filter((name) => /\.(?:ts|json)$/.test(name) && !name.endsWith('.test.ts'))
    .sort()
  for (const name of files)
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(sources, name)))
      .update('\0')
  hash.update(readFileSync(fileURLToPath(import.meta.url)))
  return hash.digest('hex')
}

function readStamp() {
  try {
    return existsSync(bundle) && JSON.parse(readFileSync(stamp, 'utf8')).hash
  } catch {
    return undefined
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await refusing(() => build({ say: console.log }))

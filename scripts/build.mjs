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
/** Which packages are there, as npm wrote it. */
const installed = join(root, 'node_modules/.package-lock.json')

/** The bundle that the service and the command line run. */
export const bundle = join(output, 'rapport.js')

/** Bundles server/src/main.ts unless the last bundle was made of the same sources and packages. `say` gets one line. */
export async function build({ say }) {
  const hash = hashOfSources()
  if (lastHash() === hash) {
    say('Nothing changed since the last build.')
    return
  }
  const began = performance.now()
  try {
    const files = await bundleTo(join(sources, 'main.ts'), bundle, withPackages)
    place(stamp, JSON.stringify({ hash, files }))
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw new Refusal(`The code has to be built, but ${output} cannot be written to by this user (${error.code}).`)
  }
  say(`Built in ${Math.round(performance.now() - began)} ms.`)
}

/**
 * What makes packages a part of the bundle: to find and read their hundreds of files takes a command longer than what it
 * does. Outside stays what is made for the machine or is mostly data, which a bundle would keep in memory, and what our
 * code imports when it is needed: a service may run for long after a newer bundle took the place of its own.
 */
const withPackages = {
  packages: 'bundle',
  // `pg` asks for the last two where they are of use, and works without.
  external: ['@faker-js/faker', '@node-rs/argon2', 'i18n-iso-countries', 'pg-native', 'pg-cloudflare'],
  plugins: [
    {
      name: 'needed later',
      setup({ onResolve }) {
        onResolve({ filter: /^[^.]/ }, ({ kind, importer, path }) =>
          kind === 'dynamic-import' && importer.startsWith(sources) ? { path, external: true } : undefined,
        )
      },
    },
  ],
  // CommonJS asks for Node's own modules with a function that ES modules lack.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
}

/**
 * Bundles one entry point, packages left outside unless `options` say otherwise. What is imported when it is needed
 * becomes a file beside it, so that a command loads what it uses alone. Each file appears complete or not at all, the
 * entry last. Resolves to their names.
 */
export async function bundleTo(entry, file, options = { packages: 'external' }) {
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
      sourcemap: true,
      // A trace of calls needs the lines, not what stands in them.
      sourcesContent: false,
      // Node keeps the text of what it runs in memory. Names and lines stay, for a trace: what is loaded first has no map
      // in use, since with the first connection that breaks maps of everything would take a third more memory.
      minifySyntax: true,
      logLevel: 'error',
      ...options,
    })
    .catch((error) => {
      throw error.errors ? new Refusal('The build failed; the reasons are above.') : error
    })
  // Its helper process would live as long as the service that was built.
  await esbuild.stop()
  mkdirSync(dirname(file), { recursive: true })
  const entryLast = outputFiles.sort((one, other) => Number(one.path === file) - Number(other.path === file))
  for (const { path, contents } of entryLast) place(path, contents)
  const made = outputFiles.map(({ path }) => basename(path))
  for (const old of readdirSync(dirname(file)))
    if (old.startsWith(`${name}.`) && !made.includes(old) && /\.js(?:\.map)?$/.test(old))
      rmSync(join(dirname(file), old))
  return made
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
  for (const [path, { dev, version, integrity }] of Object.entries(installedPackages()))
    if (!dev) hash.update(JSON.stringify([path, version, integrity]))
  return hash.update(readFileSync(fileURLToPath(import.meta.url))).digest('hex')
}

function installedPackages() {
  try {
    return JSON.parse(readFileSync(installed, 'utf8')).packages
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new Refusal(`The dependencies are missing. Run \`npm start\` (or \`npm ci --omit=dev\`) in ${root} first.`)
  }
}

/** What the last bundle was made of; undefined unless all of its files are there. */
function lastHash() {
  try {
    const { hash, files } = JSON.parse(readFileSync(stamp, 'utf8'))
    return files.every((name) => existsSync(join(output, name))) ? hash : undefined
  } catch {
    return undefined
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await refusing(() => build({ say: console.log }))

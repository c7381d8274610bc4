import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isReadOnly } from './lock.mjs'
import { Refusal, exitOnRefusal } from './refusal.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sources = join(root, 'server/src')
const output = join(root, 'server/dist')
const stamp = join(output, 'build.json')
/** The installed packages, as recorded by npm. */
const installed = join(root, 'node_modules/.package-lock.json')

/** The bundle that the service and the command line run. */
export const bundle = join(output, 'rapport.js')

/** Bundles server/src/main.ts, unless the last bundle was built from the same sources and packages. Logs one line. */
export async function build({ log }) {
  const hash = hashOfSources()
  if (lastHash() === hash) {
    log('Nothing changed since the last build.')
    return
  }
  const began = performance.now()
  try {
    const files = await bundleTo(join(sources, 'main.ts'), bundle, bundledPackages)
    writeAtomically(stamp, JSON.stringify({ hash, files }))
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw new Refusal(`The code has to be built, but ${output} cannot be written to by this user (${error.code}).`)
  }
  log(`Built in ${Math.round(performance.now() - began)} ms.`)
}

/**
 * Bundles packages too, because finding and reading their hundreds of files would take longer than most commands
 * themselves. External are packages that are built for one platform or are mostly data, which a bundle would keep in
 * memory, and dynamic imports: a service may keep running long after a newer bundle has replaced its own.
 */
const bundledPackages = {
  packages: 'bundle',
  // `pg` uses the last two if they are installed, and works without them.
  external: ['@faker-js/faker', '@node-rs/argon2', 'i18n-iso-countries', 'pg-native', 'pg-cloudflare'],
  plugins: [
    {
      name: 'dynamic imports',
      setup({ onResolve }) {
        onResolve({ filter: /^[^.]/ }, ({ kind, importer, path }) =>
          kind === 'dynamic-import' && importer.startsWith(sources) ? { path, external: true } : undefined,
        )
      },
    },
  ],
  // CommonJS packages load built-in modules of Node with `require`, which ES modules lack.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
}

/**
 * Bundles one entry point; packages stay external unless `options` log otherwise. Dynamic imports become separate
 * files, so that a command loads only what it uses. Each file appears complete or not at all, the entry last. Resolves
 * to the file names.
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
      // Stack traces need line numbers, not the source text.
      sourcesContent: false,
      // Node keeps the source of running code in memory. Names and lines are kept for stack traces, because the main
      // bundle runs without source maps: the first error would load all of them, which takes a third more memory.
      minifySyntax: true,
      logLevel: 'error',
      ...options,
    })
    .catch((error) => {
      throw error.errors ? new Refusal('The build failed; the reasons are above.') : error
    })
  // Otherwise, the helper process of esbuild would live as long as the service.
  await esbuild.stop()
  mkdirSync(dirname(file), { recursive: true })
  const entryLast = outputFiles.sort((one, other) => Number(one.path === file) - Number(other.path === file))
  for (const { path, contents } of entryLast) writeAtomically(path, contents)
  const written = outputFiles.map(({ path }) => basename(path))
  for (const old of readdirSync(dirname(file)))
    if (old.startsWith(`${name}.`) && !written.includes(old) && /\.js(?:\.map)?$/.test(old))
      rmSync(join(dirname(file), old))
  return written
}

function writeAtomically(file, content) {
  const temporary = `${file}.${process.pid}`
  try {
    writeFileSync(temporary, content)
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Hashes contents, not modification times, which a checkout or a copy changes. */
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

/** Hash of the sources of the last bundle; undefined if one of its files is missing. */
function lastHash() {
  try {
    const { hash, files } = JSON.parse(readFileSync(stamp, 'utf8'))
    return files.every((name) => existsSync(join(output, name))) ? hash : undefined
  } catch {
    return undefined
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await exitOnRefusal(() => build({ log: console.log }))

import { spawn } from 'node:child_process'
import { isBuiltin } from 'node:module'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { filesIn, hashOf, lastHash, notWritable, recordBuild, writeAtomically } from './built-files.mjs'
import { bundle, documentFile, rulesBundle } from './bundle.mjs'
import { isReadOnly } from './lock.mjs'
import { Refusal, exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

const sources = join(root, 'server/src')
const output = join(root, 'server/dist')
const web = join(root, 'web')
/** The installed packages, as recorded by npm. */
const installed = join(root, 'node_modules/.package-lock.json')

/** The parts to build. A part is only rebuilt if its sources or the installed packages have changed. */
const service = { name: 'the service', output, sources: serverSources, build: buildServer }
const application = { name: 'the web application', output: join(web, 'dist'), sources: webSources, build: buildWeb }

/**
 * Builds the service (server/src/main.ts) with its OpenAPI document, and the web application, if they have changed.
 * Logs the progress.
 */
export const build = ({ log }) => buildParts([service, application], log)

/** Builds only the service and its OpenAPI document, if they have changed. */
export const buildService = ({ log }) => buildParts([service], log)

async function buildParts(parts, log) {
  const packages = installedPackages()
  const changed = parts
    .filter((part) => part.sources().length > 0)
    .map((part) => ({ ...part, hash: hashOf(root, [...part.sources(), ...scripts()], packages) }))
    .filter((part) => lastHash(part.output) !== part.hash)
  if (changed.length === 0) {
    log('Nothing changed since the last build.')
    return
  }
  log(`Building ${changed.map(({ name }) => name).join(' and ')}…`)
  const began = performance.now()
  await Promise.all(changed.map((part) => part.build(part.hash)))
  log(`Built in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
}

const isTest = (file) => /\.test\.tsx?$/.test(file)

function serverSources() {
  return filesIn(sources).filter((file) => /\.(?:ts|json)$/.test(file) && !isTest(file))
}

/** Empty if this copy has no web application. Types and tests do not affect the build. */
function webSources() {
  if (!existsSync(join(web, 'index.html'))) return []
  const names = ['index.html', 'package.json', 'tsconfig.json', 'vite.config.ts', '../tsconfig.json']
  // The programs that the application shows (web/vite.config.ts).
  const guide = join(root, 'docs/guides/webhooks.md')
  const settings = [...names.map((name) => join(web, name)), ...(existsSync(guide) ? [guide] : [])]
  const used = [...filesIn(join(web, 'src')), ...filesIn(join(web, 'public'))]
  return [...settings, ...used.filter((file) => !isTest(file) && !file.endsWith('.d.ts'))]
}

const scripts = () =>
  ['build.mjs', 'build-document.mjs', 'build-web.mjs', 'built-files.mjs'].map((name) => join(root, 'scripts', name))

async function buildServer(hash) {
  try {
    const rules = await bundleTo(join(sources, 'rules.ts'), rulesBundle, bundledPackages)
    const main = await bundleTo(join(sources, 'main.ts'), bundle, bundledPackages)
    await runBuilder('build-document.mjs', [], 'The OpenAPI document could not be written; the reason is above.')
    const files = [...main.files, ...rules.files, relative(output, documentFile)]
    const packages = [...new Set([...main.packages, ...rules.packages])].sort()
    recordBuild(output, { hash, files, packages })
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw notWritable(output, error)
  }
}

function buildWeb(hash) {
  return runBuilder('build-web.mjs', [hash], 'The web application could not be built; the reason is above.')
}

/** Runs a script of this folder in a separate process. Throws a `Refusal` with this reason if it fails. */
async function runBuilder(script, parameters, reason) {
  const options = { cwd: root, env: { ...process.env, NODE_ENV: 'production' }, stdio: ['ignore', 2, 2] }
  const child = spawn(process.execPath, [join(root, 'scripts', script), ...parameters], options)
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Refusal(reason)
}

/**
 * Includes packages, because finding and reading their hundreds of files would take longer than most commands. External
 * are packages that are built for one platform or consist mostly of data, which a bundle would keep in memory, and
 * dynamic imports: a service may keep running long after a newer bundle has replaced its own.
 */
const bundledPackages = {
  packages: 'bundle',
  // `pg` uses the last two if they are installed, and works without them.
  external: ['@node-rs/argon2', 'pg-native', 'pg-cloudflare'],
  // Node 20 has no `navigator`, so that `pg` would look for Cloudflare by creating a `Response`: this loads all of `fetch`,
  // which takes 40 ms and 10 MB and which a service rarely needs.
  define: { navigator: JSON.stringify({ userAgent: 'Node.js' }) },
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
 * Bundles one entry point; packages stay external unless `options` says otherwise. Dynamic imports become separate
 * files, so that a command loads only what it uses. Each file appears complete or not at all, the entry last. Resolves
 * to the file names and the packages that stay external.
 */
export async function bundleTo(entry, file, options = { packages: 'external' }) {
  const esbuild = await import('esbuild')
  const name = basename(file, '.js')
  const { outputFiles, metafile } = await esbuild
    .build({
      absWorkingDir: root,
      entryPoints: [entry],
      outdir: dirname(file),
      entryNames: name,
      chunkNames: `${name}.[name]-[hash]`,
      bundle: true,
      splitting: true,
      write: false,
      metafile: true,
      platform: 'node',
      format: 'esm',
      // Before 20.10, Node had no import attributes.
      target: 'node20.19',
      sourcemap: true,
      // Stack traces need line numbers, not the source text.
      sourcesContent: false,
      // Node keeps the source of running code in memory. Names and lines are kept for stack traces, because the bundle
      // runs without its source maps, which are for debuggers: they would take a third more memory.
      minifySyntax: true,
      logLevel: 'error',
      ...options,
    })
    .catch((error) => {
      throw error.errors ? new Refusal('The build failed; the reasons are above.') : error
    })
  // Otherwise, the helper process of esbuild would live as long as the service.
  await esbuild.stop()
  const entryLast = outputFiles.sort((one, other) => Number(one.path === file) - Number(other.path === file))
  for (const { path, contents } of entryLast)
    writeAtomically(path, path.endsWith('.js') ? inLatin1(contents) : contents)
  const written = outputFiles.map(({ path }) => basename(path))
  for (const old of readdirSync(dirname(file)))
    if (old.startsWith(`${name}.`) && !written.includes(old) && /\.js(?:\.map)?$/.test(old))
      rmSync(join(dirname(file), old))
  return { files: written, packages: packagesIn(metafile) }
}

/**
 * The code without characters beyond Latin-1, for one of which Node would keep the whole file in twice the memory. esbuild
 * leaves them in comments, regular expressions and raw templates, which are the source of regular expressions too: there,
 * an escape means the same unless a backslash precedes it.
 */
function inLatin1(contents) {
  const text = Buffer.from(contents).toString('utf8')
  const escaped = /(?<!\\)(?:\\\\)*\\[^\0-\xff]/.exec(text)
  if (escaped) throw new Refusal(`The build failed: remove the backslash in ${JSON.stringify(escaped[0])}.`)
  return Buffer.from(text.replaceAll(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
}

/** The packages that the bundle loads at run time. */
function packagesIn({ outputs }) {
  const paths = Object.values(outputs).flatMap(({ imports }) => imports.filter(({ external }) => external))
  const names = paths.map(({ path }) => path).filter((path) => !isBuiltin(path))
  return [...new Set(names.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)[0]))].sort()
}

/** The packages that can affect the build. */
function installedPackages() {
  try {
    const { packages } = JSON.parse(readFileSync(installed, 'utf8'))
    return Object.entries(packages)
      .filter(([, { dev }]) => !dev)
      .map(([path, { version, integrity }]) => [path, version, integrity])
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new Refusal(`The dependencies are missing. Run \`npm start\` (or \`npm ci --omit=dev\`) in ${root} first.`)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await exitOnRefusal(() => build({ log: console.log }))

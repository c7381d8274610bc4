// Builds the web application into web/dist. A separate process, because Vite would stay in the service's memory.
import { readFileSync, rmSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { build } from 'vite'
import { filesIn, lastFiles, notWritable, recordBuild, writeAtomically } from './built-files.mjs'
import { isReadOnly } from './lock.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

const sources = join(root, 'web')
const output = join(sources, 'dist')
const page = 'index.html'

/**
 * Not compressed: the page, because the service completes it before sending, and fonts and pictures, which already are.
 */
const compressed = new Set(['.js', '.css', '.svg', '.json', '.webmanifest'])

await exitOnRefusal(async () => {
  const built = await Promise.all((await allFiles()).map(withCompressed))
  try {
    write(built.flat(), process.argv[2])
  } catch (error) {
    throw isReadOnly(error) ? notWritable(output, error) : error
  }
})

/** Writes the page last, because it refers to the others; then removes the files of the previous build. */
function write(built, hash) {
  const before = lastFiles(output)
  const pageLast = built.sort((one, other) => Number(one.name === page) - Number(other.name === page))
  for (const { name, content } of pageLast) writeAtomically(join(output, name), content)
  const files = pageLast.map(({ name }) => name)
  recordBuild(output, { hash, files })
  for (const name of before) if (!files.includes(name)) rmSync(join(output, name), { force: true })
}

/** The files that Vite names by their hash, and those of `web/public`. */
async function allFiles() {
  const results = await build({ root: sources, logLevel: 'warn', build: { write: false } })
  const bundled = [results].flat().flatMap((result) => result.output)
  const folder = join(sources, 'public')
  return [
    ...bundled.map((file) => ({ name: file.fileName, content: Buffer.from(file.code ?? file.source) })),
    ...filesIn(folder).map((file) => ({ name: relative(folder, file), content: readFileSync(file) })),
  ].filter(({ name }) => !name.startsWith('.vite/'))
}

/**
 * A file and its compressed form, if smaller. Compression runs once, at build time, so it uses the highest level. The service
 * makes the other forms from it for clients that do not know Brotli.
 */
async function withCompressed({ name, content }) {
  if (!compressed.has(extname(name))) return [{ name, content }]
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  const brotli = await promisify(brotliCompress)(content, {
    params: { ...params, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  })
  return [{ name, content }, ...(brotli.length < content.length ? [{ name: `${name}.br`, content: brotli }] : [])]
}

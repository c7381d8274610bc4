// `node scripts/runtime.mjs <folder>`: copies the files needed at run time to a folder, for the image: the files of
// `npm pack`, and the packages that are not bundled.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { lastPackages } from './built-files.mjs'
import { root } from './run.mjs'

/** Packages whose files the code finds by path, which bundlers cannot see. */
const resolvedWhenRun = ['swagger-ui-dist']

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))
const { files, optionalDependencies } = readJson(join(root, 'package.json'))

/** The files and folders in the package; only the last part of a pattern can contain a `*`. */
function packedPaths() {
  const included = files.filter((name) => !name.startsWith('!'))
  return ['package.json', 'README.md', 'LICENSE', ...included].flatMap((name) => {
    if (!name.includes('*')) return [name]
    const prefix = name.slice(name.lastIndexOf('/') + 1, name.indexOf('*'))
    const names = readdirSync(join(root, dirname(name))).filter((one) => one.startsWith(prefix))
    return names.map((one) => join(dirname(name), one))
  })
}

/** The folders of these packages and of their dependencies, as far as they are installed. */
function packageFolders(names, from = root, found = new Set()) {
  for (const name of names) {
    const folder = folderOf(name, from)
    if (folder === undefined || found.has(folder)) continue
    found.add(folder)
    const { dependencies, optionalDependencies: optional } = readJson(join(folder, 'package.json'))
    packageFolders(Object.keys({ ...dependencies, ...optional }), folder, found)
  }
  return found
}

/** Resolved like in Node: in the nearest `node_modules` of a parent folder. */
function folderOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return candidate
    if (folder === root) return undefined
  }
}

const target = resolve(process.argv[2])
const excluded = files.filter((name) => name.startsWith('!')).map((name) => join(root, name.slice(1)))
const copy = (path) => {
  mkdirSync(dirname(join(target, path)), { recursive: true })
  // Links in packages point to other files of the same package.
  const filter = (source) => !excluded.includes(source)
  cpSync(join(root, path), join(target, path), { recursive: true, verbatimSymlinks: true, dereference: false, filter })
}
for (const path of packedPaths()) copy(path)
const needed = [...lastPackages(join(root, 'server/dist')), ...resolvedWhenRun, ...Object.keys(optionalDependencies)]
for (const folder of packageFolders(needed)) {
  const path = folder.slice(root.length + 1)
  // Nested packages are copied with their parent.
  if (path.lastIndexOf('node_modules') === 0) copy(path)
}

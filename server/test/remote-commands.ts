import pg from 'pg'
import { testCluster } from './postgres.ts'

const issued = /^issuing (.*)/s

/** The commands that the servers of a Citus cluster send to each other for some connections. */
export interface RemoteCommands {
  /** Options for connections whose commands are recorded. */
  connection: pg.ClientConfig & { host: string; port: number; user: string; database: string }
  /** Runs the work and returns the commands during that time. */
  during<Result>(work: () => Promise<Result>): Promise<{ commands: string[]; result: Result }>
}

/** Has later connections to the database report the commands that they cause, between any of the servers. */
export async function recordRemoteCommands(connection: RemoteCommands['connection']): Promise<RemoteCommands> {
  for (const host of [connection.host, ...(testCluster().workers ?? [])]) {
    const client = new pg.Client({ ...connection, host })
    await client.connect()
    const statement = `alter database ${connection.database} set citus.log_remote_commands = on`
    await client.query(statement).finally(() => client.end())
  }
  const recorded: string[] = []
  class RecordedClient extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super(config)
      this.on('notice', ({ message = '' }) => {
        const command = issued.exec(message)?.[1]
        if (command !== undefined) recorded.push(command)
      })
    }
  }
  return {
    connection: { ...connection, Client: RecordedClient } as RemoteCommands['connection'],
    async during(work) {
      const first = recorded.length
      const result = await work()
      return { commands: recorded.slice(first), result }
    },
  }
}

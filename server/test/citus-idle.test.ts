import { readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { newFullLead } from './import-audit.ts'
import { isDistributed } from './engines.ts'
import { createDatabase, testCluster } from './postgres.ts'
import { until } from './processes.ts'
import { pusher } from './pushes.ts'
import { startTestService } from './service.ts'

/** Seconds to count for; `IDLE_SECONDS=120` includes every loop. */
const seconds = Number(process.env.IDLE_SECONDS ?? 15)
const organizations = 12

/** Commands that the coordinator has sent to workers since `offset`, without those of Citus' own maintenance. */
function remoteCommandsSince(offset: number): string[] {
  const log = readFileSync(logFile(), 'utf8').slice(offset)
  const commands = [...log.matchAll(/NOTICE: {2}issuing (.*(?:\n\t.*)*)/g)].map(([, command = '']) => command)
  return commands.filter((command) => !/dump_local_wait_edges|pg_prepared_xacts|citus_internal/.test(command))
}

const logFile = () => testCluster().host.replace(/socket$/, 'log')

test.skipIf(!isDistributed())(
  `an idle second sends at most two commands to workers, also after ${organizations} organizations had work`,
  async () => {
    const database = await createDatabase()
    const client = new pg.Client(database.connection)
    await client.connect()
    const { database: name } = database.connection
    await client.query(`alter database ${name} set citus.log_remote_commands = on`)
    await client.query(`alter database ${name} set log_min_messages = notice`)
    const service = await startTestService({ IMPORT_WORKERS: '2', REASONING_CONCURRENCY: '2' }, database)
    const finished = async () => {
      const { rows } = await client.query<{ left: number; notes: number; events: number; feeds: number }>(`select
        (select count(*)::int from import_rows where finished_at is null) as left,
        (select count(*)::int from notes where reasoning_queued_at is not null) as notes,
        (select count(*)::int from events where "position" is null) as events,
        (select count(*)::int from event_feeds feed left join inbox_positions reached using (organization_id)
          where feed.last_position > coalesce(reached."position", 0)) as feeds`)
      const [found] = rows
      return found?.left === 0 && found.notes === 0 && found.events === 0 && found.feeds === 0
    }
    try {
      const before = statSync(logFile()).size
      for (let count = 0; count < organizations; count++) {
        const { triggerUrl } = await service.newOrganization()
        expect((await pusher(service, new URL(triggerUrl).pathname)(newFullLead())).status).toBe(200)
      }
      await until('all work is done', finished, 60_000)
      await until('no wakeup is left', async () => {
        const { rows } = await client.query(
          `select from wakeups where organization_id <> '00000000-0000-0000-0000-000000000000'`,
        )
        return rows.length === 0
      })
      expect(remoteCommandsSince(before).length).toBeGreaterThan(organizations)
      const start = statSync(logFile()).size
      await delay(seconds * 1000)
      const commands = remoteCommandsSince(start)
      expect(commands.length / seconds, commands.join('\n')).toBeLessThanOrEqual(2)
    } finally {
      await client.end()
      await service.close()
    }
  },
  60_000 + seconds * 1000,
)

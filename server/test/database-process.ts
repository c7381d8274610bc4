import { readFileSync } from 'node:fs'
import { openEmbedded } from '../src/platform/operations/embedded-postgres/embedded.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import type { DatabaseTask } from './processes.ts'

/** The program of `processStarter`: runs its task, reports events as lines of JSON and exits on SIGTERM. */
const task = JSON.parse(readFileSync(0, 'utf8')) as DatabaseTask
const report = (event: string, more: object = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`)
const log = (message: string) => report('log', { message })
const terminated = new Promise((resolve) => process.once('SIGTERM', resolve))
const keepAlive = setInterval(() => undefined, 3_600_000)

try {
  if (task.kind === 'open') {
    const embedded = await openEmbedded({ ...task, log })
    report('open', { attached: embedded.attached, connection: embedded.connection })
    await terminated
    await embedded.close()
    report('closed')
  } else {
    report('migrated', await migrate(task.connection, { folder: task.folder, log }))
  }
} catch (error) {
  const { name, message } = error as Error
  report('failed', { name, message })
} finally {
  clearInterval(keepAlive)
}

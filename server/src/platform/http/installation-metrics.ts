import { Gauge, type Registry } from 'prom-client'

/** The state of the installation, which one process measures for all. */
export interface InstallationState {
  queues: Readonly<Record<string, { length: number; lagSeconds: number }>>
  /** Mails that ended within a day, by status. */
  mails: Readonly<Record<string, number>>
  databaseBytes: number
  lastBackupAt: Date | undefined
  freeBytes: number
}

/** Milliseconds for which a measurement is used again: all gauges of a scrape show the same one. */
const validity = 5000

/** Adds gauges that are measured when they are read. They have no value while the database is unavailable. */
export function addInstallationMetrics(registry: Registry, measure: () => Promise<InstallationState>): void {
  let last: { at: number; state: Promise<InstallationState | undefined> } | undefined
  const current = () => {
    if (last === undefined || performance.now() - last.at > validity)
      last = { at: performance.now(), state: measure().catch(() => undefined) }
    return last.state
  }
  const gauge = (
    { name, help, labelNames = [] }: { name: string; help: string; labelNames?: readonly string[] },
    set: (gauge: Gauge, state: InstallationState) => void,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset()
        const state = await current()
        if (state) set(this, state)
        else if (labelNames.length === 0) this.set(Number.NaN)
      },
    })
  gauge(
    { name: 'rapport_queue_length', help: 'What waits for background work, up to 100,000', labelNames: ['queue'] },
    (one, { queues }) => Object.entries(queues).forEach(([queue, { length }]) => one.set({ queue }, length)),
  )
  gauge(
    {
      name: 'rapport_queue_lag_seconds',
      help: 'How long the first one of the queue has been overdue',
      labelNames: ['queue'],
    },
    (one, { queues }) => Object.entries(queues).forEach(([queue, { lagSeconds }]) => one.set({ queue }, lagSeconds)),
  )
  gauge({ name: 'rapport_mails', help: 'Mails that ended within a day', labelNames: ['status'] }, (one, { mails }) =>
    Object.entries(mails).forEach(([status, count]) => one.set({ status }, count)),
  )
  gauge(
    { name: 'rapport_last_backup_timestamp_seconds', help: 'When the last complete backup was taken; 0 without any' },
    (one, { lastBackupAt }) => one.set((lastBackupAt?.getTime() ?? 0) / 1000),
  )
  gauge({ name: 'rapport_database_size_bytes', help: 'Size of the database' }, (one, { databaseBytes }) =>
    one.set(databaseBytes),
  )
  gauge({ name: 'rapport_free_space_bytes', help: 'Free space on the disk of DATA_DIR' }, (one, { freeBytes }) =>
    one.set(freeBytes),
  )
}

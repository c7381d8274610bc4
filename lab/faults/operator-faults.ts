import { execFileSync } from 'node:child_process'
import { appendFile, chown, open, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { addCleanup } from '../shared/cleanup.ts'
import { freePort } from '../shared/free-port.ts'
import { type Account, isReady } from '../shared/service.ts'
import { fillDisk, mountSmallDisk } from './disk.ts'
import type { Installation } from './operator-place.ts'

/** A fault that operators meet, and what must explain it. */
export interface OperatorFault {
  /** Causes the fault and leaves it in place. */
  cause: (place: Installation, account: Account, root: string) => Promise<void>
  /** The expected log line; undefined if the service has no reason to log one. */
  log?: RegExp
  /** The expected line of the doctor. */
  doctor: RegExp
  /** The expected text of docs/guides/troubleshooting.md. */
  guide: string
  needsRoot?: boolean
}

const isWrong = (name: string, message: string): RegExp => new RegExp(`^WRONG  ${name}: .*${message}`, 'm')

const starts: Record<string, OperatorFault> = {
  'a port that is taken': {
    async cause(place) {
      await place.start()
      await place.startInVain({ DATA_DIR: join(place.folder, 'other') })
    },
    log: /Port \d+ is in use\. Stop the program/,
    doctor: /^ok {5}service: process \d+/m,
    guide: 'Port 4000 is in use',
  },
  'a second service on a data folder': {
    async cause(place) {
      await place.start()
      await place.startInVain({ PORT: String(await freePort()) })
    },
    log: /is in use by rapport service/,
    doctor: /^ok {5}service: process \d+/m,
    guide: 'is in use by',
  },
  'an invalid setting': {
    async cause(place) {
      place.environment.IMPORT_WORKERS = 'many'
      await place.startInVain()
    },
    log: /The configuration is invalid/,
    doctor: isWrong('configuration', ''),
    guide: 'The configuration is invalid',
  },
  'a missing secret': {
    async cause(place) {
      await rm(join(place.dataFolder, 'secret'))
      await place.startInVain()
    },
    log: /The secret of this database is missing/,
    doctor: isWrong('secret', 'neither SECRET nor the file'),
    guide: 'The secret of this database is missing',
  },
  'another secret': {
    async cause(place) {
      await writeFile(join(place.dataFolder, 'secret'), 'ab'.repeat(31).padStart(64, '0123'))
      await place.startInVain()
    },
    log: /belongs to a different SECRET/,
    doctor: isWrong('secret', 'belongs to a different SECRET'),
    guide: 'This database belongs to a different SECRET',
  },
  'a broken secret': {
    async cause(place) {
      await writeFile(join(place.dataFolder, 'secret'), 'half a sec')
      await place.startInVain()
    },
    log: /does not contain a secret \(64 hex digits\)/,
    doctor: isWrong('secret', 'does not contain a secret'),
    guide: 'does not contain a secret',
  },
  'migrations of a newer release': {
    async cause(place) {
      await place.start()
      await place.query(
        `insert into schema_migrations (version, name, checksum) values (9999, '9999_later.sql', repeat('0', 64))`,
      )
      await place.stop()
      await place.startInVain()
    },
    log: /newer schema than this code/,
    doctor: isWrong('schema', '9999_later\\.sql'),
    guide: 'The database has a newer schema than this code',
  },
  'a rejected user or password': {
    async cause(place) {
      await place.start()
      const host = encodeURIComponent(join(place.dataFolder, 'sockets'))
      place.environment = { ...place.environment, DATABASE_URL: `postgres://stranger:wrong@/rapport?host=${host}` }
      await place.startInVain({ PORT: String(await freePort()) })
    },
    log: /The database rejected the user or the password/,
    doctor: isWrong('database', 'rejects the user or the password'),
    guide: 'The database rejected the user or the password',
  },
  'an address without a database': {
    async cause(place) {
      place.environment.DATABASE_URL = `postgres://rapport@127.0.0.1:${await freePort()}/rapport`
      await place.start({ waits: false })
    },
    log: /"level":50,.*The database cannot be reached: .*It is tried again/,
    doctor: isWrong('database', 'cannot be reached: connect ECONNREFUSED'),
    guide: 'Every request gets 503 `overloaded`',
  },
  'data of another user': {
    needsRoot: true,
    async cause(place) {
      execFileSync('chown', ['-R', '1:1', place.dataFolder])
      await chown(place.folder, 1, 1)
      await place.startInVain()
    },
    log: /belongs to user 1\. Start the service as daemon/,
    doctor: isWrong('database', 'sudo -u daemon DATA_DIR=\\S+ node'),
    guide: 'Never change the owner of the folder of a running service',
  },
}

const storage: Record<string, OperatorFault> = {
  'a full disk': {
    needsRoot: true,
    async cause(place, account) {
      await onDisk(place)
      await place.start()
      fillDisk(join(place.environment.DATA_DIR ?? '', 'ballast'))
      for (let count = 0; count < 40; count++) await push(place, account, 'x'.repeat(100_000))
    },
    log: /"level":50,.*"problem":"disk full"|"level":50,.*No space left/,
    doctor: isWrong('free space', ''),
    guide: 'a full disk',
  },
  'a read-only disk': {
    needsRoot: true,
    async cause(place) {
      const disk = await onDisk(place)
      execFileSync('mount', ['-o', 'remount,ro', disk])
      await place.startInVain()
    },
    log: /\(EROFS\).*read-only/,
    doctor: isWrong('data folder', 'EROFS'),
    guide: 'EROFS',
  },
  'damaged pages': {
    async cause(place, account) {
      await place.start()
      await place.query('checkpoint').catch(() => undefined)
      const [row] = await place.query(`select pg_relation_filepath('users') as path`)
      await place.stop()
      const file = await open(join(place.dataFolder, 'postgres', String(row?.path)), 'r+')
      const { size } = await file.stat()
      for (let page = 0; page < size; page += 8192) await file.write(Buffer.alloc(16, 7), 0, 16, page + 8000)
      await file.close()
      await place.start()
      for (let count = 0; count < 3; count++)
        await fetch(`${place.url}/v5/me`, { headers: { authorization: `Bearer ${account.accessToken}` } })
    },
    log: /"level":50,.*"problem":"damage"/,
    doctor: isWrong('checksums', 'damaged pages'),
    guide: '## Damaged data',
  },
  'backups that fail': {
    async cause(place) {
      await place.start()
      const takenAt = new Date(Date.now() - 3 * 86_400_000).toISOString()
      const value = JSON.stringify({ takenAt, folder: '/var/backups/rapport' })
      await place.query(`insert into instance (name, value) values ('last_backup', '${value}')`)
    },
    doctor: isWrong('backup', 'the latest is of'),
    guide: '| `backup` ',
  },
}

const running: Record<string, OperatorFault> = {
  'a killed service': {
    async cause(place) {
      const child = await place.start()
      child.kill('SIGKILL')
      await delay(500)
    },
    doctor: /^note {3}service: no service is running/m,
    guide: '`service` ',
  },
  'a killed database': {
    async cause(place) {
      await place.start()
      process.kill(await place.postgres(), 'SIGKILL')
      await delay(1000)
      while (!(await isReady(place.url))) await delay(100)
    },
    log: /"level":50,.*The database stopped unexpectedly/,
    doctor: /^ok {5}database: PostgreSQL/m,
    guide: 'The database stopped unexpectedly',
  },
  'a database that does not start': {
    async cause(place) {
      await place.start()
      await appendFile(join(place.dataFolder, 'postgres/postgresql.conf'), '\nno_such_setting = on\n')
      process.kill(await place.postgres(), 'SIGKILL')
    },
    log: /"level":50,.*The database does not start.*no_such_setting/,
    doctor: isWrong('database', 'no_such_setting|PostgreSQL did not start'),
    guide: 'The database does not start',
  },
  'a frozen database': {
    async cause(place) {
      await place.start()
      const server = await place.postgres()
      const children = execFileSync('pgrep', ['-P', String(server)], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map(Number)
      const all = [server, ...children]
      for (const pid of all) process.kill(pid, 'SIGSTOP')
      addCleanup(async () => all.forEach((pid) => resume(pid)))
      place.onStop(() => all.forEach((pid) => resume(pid)))
    },
    log: /"level":50,.*"problem":"un(?:available|responsive)"/,
    doctor: isWrong('database', 'did not respond within 10 s; it may be frozen'),
    guide: 'Every request gets 503 `overloaded`',
  },
  'a stuck lock': {
    async cause(place) {
      await place.start()
      const holder = await place.connect()
      await holder.query('begin; lock table contacts in access exclusive mode')
      place.onStop(() => void holder.end())
      await delay(6000)
    },
    log: /"level":50,.*Changes wait: process \d+ \(psql.*AccessExclusiveLock on contacts/,
    doctor: isWrong('locks', 'process \\d+ \\(psql'),
    guide: '"changes":"waiting"',
  },
  'no connection left': {
    async cause(place, { apiKey, organizationId }) {
      await place.start()
      for (;;) {
        const client = await place.connect().catch(() => undefined)
        if (!client) break
        place.onStop(() => void client.end())
      }
      // More concurrent requests than the service has connections now.
      const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
      await Promise.all(Array.from({ length: 60 }, () => fetch(`${place.url}/v5/contacts`, { headers })))
    },
    log: /"level":50,.*"problem":"connections"/,
    doctor: isWrong('database', 'PostgreSQL has no connection left'),
    guide: 'PostgreSQL has no connection left',
  },
  'no open file left': {
    async cause(place) {
      await place.start({ shell: 'ulimit -n 100;' })
      const sockets = Array.from({ length: 100 }, () =>
        connect(Number(place.environment.PORT), '127.0.0.1').on('error', () => undefined),
      )
      place.onStop(() => sockets.forEach((socket) => socket.destroy()))
      await delay(6000)
    },
    log: /"level":50,.*"problem":"open files"/,
    doctor: isWrong('open files', 'of at most 100'),
    guide: 'LimitNOFILE=65536',
  },
  'a clock that is an hour off': {
    async cause(place, _account, root) {
      const shifted = pathToFileURL(join(root, 'lab/faults/shifted-clock.mjs'))
      const environment = { NODE_OPTIONS: `--import ${shifted}`, FAULTS_CLOCK_SHIFTS: '3600000' }
      const child = await place.start({ environment })
      child.kill('SIGUSR2')
      await place.query(`with one as (select * from audit_events limit 1)
        insert into audit_events (organization_id, id, action, actor_kind, created_at)
        select organization_id, gen_random_uuid(), action, actor_kind, now() + interval '1 hour' from one`)
    },
    log: /"level":50,.*"problem":"clocks"/,
    doctor: isWrong('clocks', 'the audit log has an event of'),
    guide: '"problem":"clocks"',
  },
  'a dead mail server': {
    async cause(place) {
      place.environment.SMTP_URL = `smtp://127.0.0.1:${await freePort()}`
      place.environment.MAIL_FROM = 'crm@example.com'
      await place.start()
      await fetch(`${place.url}/auth/forgot-password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'faults@example.com' }),
      })
      await delay(3000)
    },
    log: /mail: not sent yet/,
    doctor: /^note {3}mail: .*\n.*Last failure: the mail server could not be reached/m,
    guide: 'No mails arrive',
  },
}

export const operatorFaults: Readonly<Record<string, OperatorFault>> = { ...starts, ...storage, ...running }

function resume(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has ended.
  }
}

/** Moves the data to a separate small disk, and returns that. */
async function onDisk(place: Installation): Promise<string> {
  const mount = await mountSmallDisk(place)
  if (!mount) throw new Error('The disk could not be mounted.')
  place.afterStop(() => mount.remove())
  execFileSync('cp', ['-a', place.dataFolder, join(mount.folder, 'data')])
  place.environment.DATA_DIR = join(mount.folder, 'data')
  return mount.folder
}

const push = (place: Installation, { triggerUrl }: Account, note: string) =>
  fetch(`${place.url}${new URL(triggerUrl).pathname}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${Math.random()}@example.com`, notes: [note] }),
  }).catch(() => undefined)

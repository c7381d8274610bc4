import { isConnectTimeout } from './connect.ts'
import { isConnectionLoss, isDamage, sqlState } from './failures.ts'

/** A state of the database that needs a person. */
export interface Problem {
  kind: string
  cause: string
  remedy: string
}

const fewerConnections =
  'Increase max_connections of PostgreSQL, or decrease DATABASE_CONNECTIONS, IMPORT_WORKERS, REASONING_CONCURRENCY or PROCESSES of the services. Restarting a program that opens too many ends its connections.'
const moreFiles =
  'Increase the limit of the process: `ulimit -n 65536`, or LimitNOFILE=65536 with systemd. Then restart it.'
const replaceDisk =
  'Copy the data folder away first, then check the disk (`dmesg`). Restore the latest backup into a new data folder, on another disk if this one fails (docs/guides/troubleshooting.md, "Damaged data").'

const problems = {
  connections: { cause: 'PostgreSQL has no connection left.', remedy: fewerConnections },
  'disk full': {
    cause: 'The disk of the database is full.',
    remedy: 'Free some space. Reads still work, and changes work again as soon as there is space; nothing is lost.',
  },
  memory: { cause: 'PostgreSQL is out of memory.', remedy: 'Add memory, or stop other programs on its machine.' },
  'open files': { cause: 'Too many files are open.', remedy: moreFiles },
  damage: { cause: 'Part of the data is damaged and cannot be read.', remedy: replaceDisk },
  disk: { cause: 'The disk of the database reports an error.', remedy: replaceDisk },
  'read-only': {
    cause: 'The database accepts no changes: it is a standby, or default_transaction_read_only is on.',
    remedy: 'Set DATABASE_URL to the primary, or turn the setting off.',
  },
  'read-only disk': {
    cause: 'The disk of the database is read-only.',
    remedy: 'Linux does this after a disk error: see `dmesg`. Mount it read-write again (`mount -o remount,rw`).',
  },
  credentials: {
    cause: 'The database rejects the user or the password.',
    remedy: 'Correct the password in DATABASE_URL, or the entry in pg_hba.conf, and restart the service.',
  },
  unresponsive: {
    cause: 'The database does not respond in time.',
    remedy:
      'Run `rapport doctor`. Its processes may be frozen (kill -CONT), its disk or its machine overloaded, or the network slow.',
  },
  unavailable: {
    cause: 'The database is unavailable.',
    remedy: 'Check that PostgreSQL is running and that DATABASE_URL is right. The service recovers by itself.',
  },
} satisfies Record<string, Omit<Problem, 'kind'>>

export type ProblemKind = keyof typeof problems

const kindByState: Readonly<Record<string, ProblemKind>> = {
  '53300': 'connections',
  '53100': 'disk full',
  '53200': 'memory',
  '53000': 'open files',
  '58030': 'disk',
  '25006': 'read-only',
}

/** The problem that an error, or its cause, shows; undefined if it needs no person. */
export function problemOf(error: unknown): Problem | undefined {
  const kind = kindOf(error)
  if (kind !== undefined) return problemOfKind(kind)
  return error instanceof Error && error.cause !== undefined ? problemOf(error.cause) : undefined
}

export const problemOfKind = (kind: ProblemKind): Problem => ({ kind, ...problems[kind] })

function kindOf(error: unknown): ProblemKind | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EMFILE' || code === 'ENFILE') return 'open files'
  const state = sqlState(error) ?? ''
  if (isDamage(error)) return 'damage'
  if (/Read-only file system/.test(error.message)) return 'read-only disk'
  if (state.startsWith('28')) return 'credentials'
  return kindByState[state] ?? (isConnectionLoss(error) || isConnectTimeout(error) ? 'unavailable' : undefined)
}

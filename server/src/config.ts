import { resolve } from 'node:path'
import { StartError } from './platform/database/start-error.ts'
import { allowedPlace } from './platform/egress/allow.ts'
import { sender, smtpServer } from './platform/mail/settings.ts'
import {
  address,
  connectionString,
  list,
  oneOf,
  optional,
  origin,
  setting,
  type Setting,
  trustedProxies,
  whole,
} from './settings.ts'

/** Every setting of the service, declared once: the start, the messages and docs/configuration.md all read this. */
export const settings = {
  port: setting({
    name: 'PORT',
    does: 'The port of the API. `0` takes any free one.',
    default: '4000',
    example: '8080',
    parse: whole(0, 65_535),
  }),
  host: setting({
    name: 'HOST',
    does: 'The address to listen on. The default is reachable from this machine alone; `0.0.0.0` or `::` from others too.',
    default: '127.0.0.1',
    example: '0.0.0.0',
    parse: (text) => {
      if (/[\s/]/.test(text)) throw new Error('has to be an address or a host name, without scheme or path')
      return text
    },
  }),
  dataFolder: setting({
    name: 'DATA_DIR',
    does: 'The folder of the embedded database and of the secret. A relative path starts at the folder of the command.',
    default: './data',
    example: '/var/lib/rapport',
    parse: (text) => resolve(text),
  }),
  databaseUrl: optional({
    name: 'DATABASE_URL',
    does: 'A PostgreSQL 15 or newer to use instead of the embedded one. It needs the extension pg_trgm, and no superuser.',
    example: 'postgres://rapport:password@db.example.com/rapport?sslmode=verify-full',
    secret: true,
    parse: connectionString,
  }),
  databaseConnections: setting({
    name: 'DATABASE_CONNECTIONS',
    does: 'Connections to the database that requests use at most. A service takes 5 more, and 2 for each of IMPORT_WORKERS.',
    default: '16',
    example: '32',
    parse: whole(2, 500),
  }),
  importWorkers: setting({
    name: 'IMPORT_WORKERS',
    does: 'For how many organizations this process works on pushed rows at a time. `0` leaves them to other processes on the same database.',
    default: '2',
    example: '4',
    parse: whole(0, 16),
  }),
  importLeaseSeconds: setting({
    name: 'IMPORT_LEASE_SECONDS',
    does: 'How long a batch of pushed rows may take: after that, rows of a process that died are worked on by another.',
    default: '60',
    example: '30',
    parse: whole(1, 3600),
  }),
  importRowsDays: setting({
    name: 'IMPORT_ROWS_DAYS',
    does: 'How many days rows of imports are kept, with what was pushed, once they have come to their end. `0` keeps them for ever. The same for every service on one database.',
    default: '90',
    example: '30',
    parse: whole(0, 36_500),
  }),
  costlyQueries: setting({
    name: 'COSTLY_QUERIES',
    does: 'How many queries that no index serves may run at a time; further ones queue briefly, then get a 503. Has to be below DATABASE_CONNECTIONS.',
    default: '2',
    example: '1',
    parse: whole(1, 100),
  }),
  publicUrl: optional({
    name: 'PUBLIC_URL',
    does: 'The address under which callers reach the service, for links in answers and for `bootstrap`. Unset: the address it listens on.',
    example: 'https://crm.example.com',
    parse: address,
  }),
  authOrigin: optional({
    name: 'AUTH_ORIGIN',
    does: 'Moves the authentication routes (`POST /auth`) to this host name and takes them off the API’s. Unset: both share one host.',
    example: 'https://auth.example.com',
    parse: origin,
  }),
  secret: optional({
    name: 'SECRET',
    does: 'Protects what must not lie open in the database: 32 random bytes in hexadecimal or base64, or any random text of at least 32 characters. Unset: made at the first start and kept in DATA_DIR. The database remembers which one it belongs to, so keep it with your backups.',
    example: 'what `openssl rand -hex 32` prints',
    secret: true,
    parse: (text) => {
      if (text.trim().length < 32)
        throw new Error('has to have at least 32 characters (`openssl rand -hex 32` makes one)')
      return text
    },
  }),
  signUp: setting({
    name: 'SIGN_UP',
    does: 'Who may make an account: `open` is anyone with an address, each with an organization of their own; `invite` those whom an organization invites; `closed` nobody new.',
    default: 'invite',
    example: 'closed',
    parse: oneOf<'open' | 'invite' | 'closed'>(['open', 'invite', 'closed']),
  }),
  trustProxy: setting({
    name: 'TRUST_PROXY',
    does: 'Whose forwarding headers tell a caller’s address: `off`, the number of proxies in front, or their addresses and networks.',
    default: 'off',
    example: '10.0.0.0/8,127.0.0.1',
    parse: trustedProxies,
  }),
  rateLimitPerMinute: optional({
    name: 'RATE_LIMIT_PER_MINUTE',
    does: 'Requests a minute for each credential, import trigger or unknown address, in place of the built-in limits.',
    example: '600',
    parse: whole(1, 100_000_000),
  }),
  corsOrigins: setting({
    name: 'CORS_ORIGINS',
    does: 'The origins whose pages may call the API from a browser, separated by commas. Empty: none.',
    default: '',
    example: 'https://app.example.com,http://localhost:5173',
    parse: list(origin),
  }),
  egressAllow: setting({
    name: 'EGRESS_ALLOW',
    does: 'Internal hosts that the service may connect to when somebody gives their address, such as the issuer of single sign-on: host names (with a port or without), addresses or networks, separated by commas. All else that is not public is refused; link-local and cloud metadata addresses always are.',
    default: '',
    example: 'id.internal:8443,10.1.0.0/16',
    parse: list(allowedPlace),
  }),
  smtpUrl: optional({
    name: 'SMTP_URL',
    does: 'The mail server that mails are handed to: `smtp://` (STARTTLS where it is offered; with a user and a password it has to be, unless the server is on this machine) or `smtps://`. User and password are percent-encoded. Unset: mails are kept, and the owners of an organization read them at `/v5/mails`. The same for every service on one database.',
    example: 'smtp://rapport:password@mail.example.com:587',
    secret: true,
    parse: smtpServer,
  }),
  mailFrom: optional({
    name: 'MAIL_FROM',
    does: 'Who mails come from: an address, or a name and an address. Needed with SMTP_URL.',
    example: 'Rapport <crm@example.com>',
    parse: sender,
  }),
  drainMilliseconds: setting({
    name: 'DRAIN_MILLISECONDS',
    does: 'How long a service told to stop still takes requests while `/readyz` already says 503, so that a load balancer notices. Requests under way then have 25 seconds to end.',
    default: '500',
    example: '10000',
    parse: whole(0, 600_000),
  }),
  logLevel: setting({
    name: 'LOG_LEVEL',
    does: 'The least weighty message to log: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
    default: 'info',
    example: 'warn',
    parse: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  }),
  metricsPort: optional({
    name: 'METRICS_PORT',
    does: 'The port of `/metrics` (Prometheus). Unset: no metrics are served.',
    example: '9400',
    parse: whole(0, 65_535),
  }),
  metricsHost: setting({
    name: 'METRICS_HOST',
    does: 'The address that METRICS_PORT listens on.',
    default: '127.0.0.1',
    example: '0.0.0.0',
    parse: (text) => text,
  }),
}

type Settings = typeof settings
export type Config = { readonly [Key in keyof Settings]: ReturnType<Settings[Key]['parse']> }
export type Environment = Readonly<Record<string, string | undefined>>

/** The configuration that the environment gives. Throws a `StartError` that lists every mistake at once. */
export function readConfig(environment: Environment): Config {
  const mistakes: string[] = []
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, declared]) => {
    const text = environment[declared.name] || declared.default
    try {
      return [key, text === undefined ? undefined : declared.parse(text)]
    } catch (error) {
      const shown = declared.secret ? '' : ` (it is ${JSON.stringify(text)})`
      mistakes.push(`${declared.name} ${(error as Error).message}${shown}`)
      return [key, undefined]
    }
  })
  const config = Object.fromEntries(entries) as Config
  mistakes.push(...misspelt(environment, 'mistake'), ...(mistakes.length === 0 ? contradictions(config) : []))
  if (mistakes.length > 0) {
    throw new StartError(
      [
        'The configuration is not valid:',
        ...mistakes.map((mistake) => `  - ${mistake}`),
        'See docs/configuration.md.',
      ].join('\n'),
    )
  }
  return config
}

/** Names that look like a misspelt setting and may as well be another program's: told, not refused. */
export const configWarnings = (environment: Environment): string[] => misspelt(environment, 'warning')

function contradictions({
  costlyQueries,
  databaseConnections,
  metricsPort,
  port,
  smtpUrl,
  mailFrom,
}: Config): string[] {
  const found: string[] = []
  if (costlyQueries >= databaseConnections) found.push('COSTLY_QUERIES has to be below DATABASE_CONNECTIONS')
  if (metricsPort !== undefined && metricsPort !== 0 && metricsPort === port)
    found.push('METRICS_PORT has to differ from PORT')
  if (smtpUrl && !mailFrom) found.push('SMTP_URL needs MAIL_FROM, the address that mails come from')
  return found
}

/** Short names collide with those of other programs, so only a long one is a mistake. */
const longName = 8
const foreign = new Set(['HOME', 'HOSTS', 'POST', 'PORTS', 'SECRETS', 'DATADIR', 'PUBLIC_URI'])

function misspelt(environment: Environment, weight: 'mistake' | 'warning'): string[] {
  const names = Object.values(settings).map(({ name }) => name)
  return Object.keys(environment)
    .filter((name) => !names.includes(name) && !foreign.has(name) && environment[name])
    .flatMap((name) => {
      const meant = names.find(
        (known) => !environment[known] && distance(name.toUpperCase(), known) <= (known.length >= longName ? 2 : 1),
      )
      if (!meant || (meant.length >= longName ? 'mistake' : 'warning') !== weight) return []
      return [`${name} is not a setting; did you mean ${meant}?`]
    })
}

/** Edits between two words, a swap of neighbours counting as one. */
function distance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3
  const rows = [Array.from({ length: right.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const above = rows[row - 1]!
      const change = left[row - 1] === right[column - 1] ? 0 : 1
      let least = Math.min(above[column]! + 1, current[column - 1]! + 1, above[column - 1]! + change)
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) least = Math.min(least, rows[row - 2]![column - 2]! + 1)
      current.push(least)
    }
    rows.push(current)
  }
  return rows[left.length]![right.length]!
}

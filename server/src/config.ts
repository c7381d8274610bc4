import { resolve } from 'node:path'
import type { Durability } from './platform/database/durability.ts'
import { unencryptedHost } from './platform/database/unencrypted.ts'
import { StartError } from './platform/database/start-error.ts'
import { parseAllowedHost } from './platform/egress/allow.ts'
import { allowsPlaintext } from './platform/egress/plaintext.ts'
import { sender, smtpServer } from './identity/mails/settings.ts'
import { nearest } from './nearest-name.ts'
import { languages } from './platform/model/languages.ts'
import { reasoningContradictions, reasoningSettings } from './assistant/settings.ts'
import { withSecretFiles, type Environment } from './secret-files.ts'
import {
  address,
  connectionString,
  list,
  oneOf,
  optional,
  origin,
  processCount,
  setting,
  type Setting,
  trustedProxies,
  integer,
} from './settings.ts'

/** All settings of the service, declared once for parsing, messages and docs/configuration.md. */
export const settings = {
  port: setting({
    name: 'PORT',
    description: 'Port of the API. `0` selects any free port.',
    default: '4000',
    example: '8080',
    parse: integer(0, 65_535),
  }),
  host: setting({
    name: 'HOST',
    description:
      'Address to listen on. The default accepts connections only from this machine; `0.0.0.0` or `::` also accept others.',
    default: '127.0.0.1',
    example: '0.0.0.0',
    parse: (text) => {
      if (/[\s/]/.test(text)) throw new Error('expected an address or a host name, without scheme or path')
      return text
    },
  }),
  processes: setting({
    name: 'PROCESSES',
    description:
      'Number of processes that serve requests. `auto` starts one per processor; the CPU limit of a container counts. Limits apply to all processes together, except those on memory. Each process uses about 110 MB, and the first one another 110 MB.',
    default: '1',
    example: 'auto',
    parse: processCount,
  }),
  role: setting({
    name: 'ROLE',
    description:
      'What this service does. `api` serves requests and does no background work: IMPORT_WORKERS and REASONING_CONCURRENCY count as 0, and it sends no mails and does no maintenance. `work` does only background work, and serves only `/healthz`, `/readyz` and metrics. `all` does both. `api` and `work` require DATABASE_URL; run at least one of each on the same database.',
    default: 'all',
    example: 'api',
    parse: oneOf<'all' | 'api' | 'work'>(['all', 'api', 'work']),
  }),
  dataFolder: setting({
    name: 'DATA_DIR',
    description:
      'Folder for the embedded database and the secret. A relative path is relative to the working directory of the command.',
    default: './data',
    example: '/var/lib/rapport',
    parse: (text) => resolve(text),
  }),
  databaseUrl: optional({
    name: 'DATABASE_URL',
    description:
      'Address of your own PostgreSQL 15 or newer, used instead of the embedded one. The extension pg_trgm must be available; a superuser is not needed. Over a network, set `sslmode` (preferably `verify-full`) or add the host to PLAINTEXT_HOSTS.',
    example: 'postgres://rapport:password@db.example.com/rapport?sslmode=verify-full',
    secret: true,
    parse: connectionString,
  }),
  postgresBinaries: optional({
    name: 'POSTGRES_BINARIES',
    description:
      'Folder of a PostgreSQL 15 or newer (with `bin/postgres`) that runs the embedded database, instead of the included one: that of your distribution, which gets security releases sooner. A new database is created with it; an existing one of another major version is moved to it by `rapport upgrade-database` or the next start. Not used with DATABASE_URL.',
    example: '/usr/lib/postgresql/18',
    parse: (text) => resolve(text),
  }),
  databaseConnections: setting({
    name: 'DATABASE_CONNECTIONS',
    description:
      'Maximum number of database connections for requests. A service uses 2 more for each of IMPORT_WORKERS, 1 more for each of REASONING_CONCURRENCY, and 5 more for each of PROCESSES. The processes share the connections; each has at least one more than MAX_UNINDEXED_QUERIES.',
    default: '16',
    example: '32',
    parse: integer(2, 500),
  }),
  databaseDurability: setting({
    name: 'DATABASE_DURABILITY',
    description:
      'Whether PostgreSQL must report `fsync`, `synchronous_commit` and `full_page_writes` as on. `required` refuses to start otherwise, because a crash could lose confirmed changes. `assumed` starts with a warning; use it for storage that is durable by other means, or if losing data is acceptable.',
    default: 'required',
    example: 'assumed',
    parse: oneOf<Durability>(['required', 'assumed']),
  }),
  importWorkers: setting({
    name: 'IMPORT_WORKERS',
    description:
      'Number of organizations whose pushed rows this service handles at the same time. `0` leaves them to other services on the same database.',
    default: '2',
    example: '4',
    parse: integer(0, 16),
  }),
  webhookConcurrency: setting({
    name: 'WEBHOOK_CONCURRENCY',
    description:
      'Number of webhooks to which this service sends at the same time, with at most four requests each. `0` leaves them to other services on the same database.',
    default: '32',
    example: '64',
    parse: integer(0, 256),
  }),
  importLeaseSeconds: setting({
    name: 'IMPORT_LEASE_SECONDS',
    description:
      'Maximum time for a batch of pushed rows. If a process dies, another one takes over its rows after this time.',
    default: '60',
    example: '30',
    parse: integer(1, 3600),
  }),
  importRowsDays: setting({
    name: 'IMPORT_ROW_RETENTION_DAYS',
    description:
      'Number of days that finished import rows are stored, with their payloads. `0` stores them forever. Use the same value for every service on one database.',
    default: '90',
    example: '30',
    parse: integer(0, 36_500),
  }),
  auditLogDays: setting({
    name: 'AUDIT_LOG_RETENTION_DAYS',
    description:
      'Number of days that events of the audit log are stored. `0` stores them forever. A million events take about 0.8 GB. Use the same value for every service on one database.',
    default: '730',
    example: '365',
    parse: integer(0, 36_500),
  }),
  historyDays: setting({
    name: 'HISTORY_RETENTION_DAYS',
    description:
      'Number of days that the history of contacts, companies, deals, notes and tasks is stored: each change, with the values before and after. `0` stores it as long as its record. A million changes take about 0.6 GB, a million new contacts 1.4 GB. Use the same value for every service on one database.',
    default: '1825',
    example: '365',
    parse: integer(0, 36_500),
  }),
  eventDays: setting({
    name: 'EVENT_RETENTION_DAYS',
    description:
      'Number of days that the feed of changes reaches back: a reader that was away for longer starts again with a new copy. `HISTORY_RETENTION_DAYS` limits it too. A million events take 0.6 to 1.4 GB. Use the same value for every service on one database.',
    default: '30',
    example: '90',
    parse: integer(1, 36_500),
  }),
  importBytesPerDay: setting({
    name: 'IMPORT_BYTES_PER_DAY',
    description:
      'Maximum number of bytes that each import accepts in a day (UTC): bodies and query parameters of pushes. Further pushes get 429 until midnight. An alarm starts at 80 %. `0` sets no limit. Use the same value for every service on one database.',
    default: '1000000000',
    example: '50000000',
    parse: integer(0, 1_000_000_000_000_000),
  }),
  costlyQueries: setting({
    name: 'MAX_UNINDEXED_QUERIES',
    description:
      'Maximum number of unindexed queries that run at the same time. Further ones wait briefly and then get a 503. Must be below DATABASE_CONNECTIONS.',
    default: '2',
    example: '1',
    parse: integer(1, 100),
  }),
  publicUrl: optional({
    name: 'PUBLIC_URL',
    description:
      'Public address of the service, used for links in responses and for `bootstrap`. If unset, the address it listens on.',
    example: 'https://crm.example.com',
    parse: address,
  }),
  authOrigin: optional({
    name: 'AUTH_ORIGIN',
    description:
      'Moves the authentication routes (`POST /auth`) and the web application to this host name and removes them from the API’s host. If unset, both share one host.',
    example: 'https://auth.example.com',
    parse: origin,
  }),
  secret: optional({
    name: 'SECRET',
    description:
      'Encrypts sensitive values in the database: 32 random bytes in hexadecimal or base64, or any random text of at least 32 characters. If unset, the first start creates it in DATA_DIR. The database accepts only its own secret, so store a copy; `rapport secret replace` replaces it.',
    example: 'the output of `openssl rand -hex 32`',
    secret: true,
    parse: (text) => {
      if (text.trim().length < 32)
        throw new Error('expected at least 32 characters, such as the output of `openssl rand -hex 32`')
      return text
    },
  }),
  signUp: setting({
    name: 'SIGN_UP',
    description:
      'Who can create an account: `open` allows anyone with an email address, each with a new organization; `invite` allows only invited people; `closed` allows nobody.',
    default: 'invite',
    example: 'closed',
    parse: oneOf<'open' | 'invite' | 'closed'>(['open', 'invite', 'closed']),
  }),
  breachedPasswordsFile: optional({
    name: 'BREACHED_PASSWORDS_FILE',
    description:
      'File with SHA-1 hashes of breached passwords, one per line, sorted by hash, as published by Have I Been Pwned. New passwords in it are rejected, in addition to the built-in list. The file is searched on disk.',
    example: '/var/lib/rapport/pwned-passwords-sha1.txt',
    parse: (text) => resolve(text),
  }),
  trustProxy: setting({
    name: 'TRUST_PROXY',
    description:
      'Proxies whose `X-Forwarded-For` header is trusted: `off`, the number of proxies in front, or their addresses and networks.',
    default: 'off',
    example: '10.0.0.0/8,127.0.0.1',
    parse: trustedProxies,
  }),
  rateLimitPerMinute: optional({
    name: 'RATE_LIMIT_PER_MINUTE',
    description:
      'Requests per minute for each credential, import trigger or unknown address, instead of the built-in limits.',
    example: '600',
    parse: integer(1, 100_000_000),
  }),
  corsOrigins: setting({
    name: 'CORS_ORIGINS',
    description: 'Origins whose pages can call the API from a browser, separated by commas. If empty, none.',
    default: '',
    example: 'https://app.example.com,http://localhost:5173',
    parse: list(origin),
  }),
  egressAllow: setting({
    name: 'EGRESS_ALLOW',
    description:
      'Internal hosts to which the service can connect at a URL that a user has entered, such as the issuer of single sign-on. Host names (with or without port), addresses or networks, separated by commas. All other private addresses are refused; link-local and cloud metadata addresses always are.',
    default: '',
    example: 'id.internal:8443,10.1.0.0/16',
    parse: list(parseAllowedHost),
  }),
  plaintextHosts: setting({
    name: 'PLAINTEXT_HOSTS',
    description:
      'Hosts on other machines to which the service can connect without TLS: the mail server of SMTP_URL, the database of DATABASE_URL, the issuer of single sign-on, the model of REASONING_URL. Host names (with or without port), addresses or networks, separated by commas. Use it only on a network that nobody else can read.',
    default: '',
    example: 'database,10.1.0.0/16',
    parse: list(parseAllowedHost),
  }),
  smtpUrl: optional({
    name: 'SMTP_URL',
    description:
      'Mail server: `smtp://` (STARTTLS is required, unless the server is on this machine or in PLAINTEXT_HOSTS) or `smtps://`. Percent-encode the user and the password. If unset, mails are stored, and owners can read them at `/v5/mails` (invitations: only owners of the first organization). Use the same value for every service on one database.',
    example: 'smtp://rapport:password@mail.example.com:587',
    secret: true,
    parse: smtpServer,
  }),
  mailFrom: optional({
    name: 'MAIL_FROM',
    description: 'Sender of mails: an address, or a name and an address. Required with SMTP_URL.',
    example: 'Rapport <crm@example.com>',
    parse: sender,
  }),
  defaultLanguage: setting({
    name: 'DEFAULT_LANGUAGE',
    description:
      'Language of mails to people who have not chosen one: `en` or `de`. New accounts have the language of the page on which they were created.',
    default: 'en',
    example: 'de',
    parse: oneOf(languages),
  }),
  ...reasoningSettings,
  drainMilliseconds: setting({
    name: 'DRAIN_MILLISECONDS',
    description:
      'Time during which a stopping service still accepts requests while `/readyz` already returns 503, so that load balancers notice. After that, requests in progress have 25 seconds to finish.',
    default: '500',
    example: '10000',
    parse: integer(0, 600_000),
  }),
  logLevel: setting({
    name: 'LOG_LEVEL',
    description: 'Minimum log level: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
    default: 'info',
    example: 'warn',
    parse: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  }),
  metricsPort: optional({
    name: 'METRICS_PORT',
    description: 'Port of `/metrics` (Prometheus). If unset, no metrics are served.',
    example: '9400',
    parse: integer(0, 65_535),
  }),
  metricsHost: setting({
    name: 'METRICS_HOST',
    description: 'Address that METRICS_PORT listens on.',
    default: '127.0.0.1',
    example: '0.0.0.0',
    parse: (text) => text,
  }),
}

type Settings = typeof settings
export type Config = { readonly [Key in keyof Settings]: ReturnType<Settings[Key]['parse']> }
/** Reads the configuration from the environment. Throws a `StartError` that lists all errors at once. */
export function parseConfig(given: Environment): Config {
  const { environment, mistakes } = withSecretFiles(given, fileSettings)
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, declared]) => {
    const text = environment[declared.name] || declared.default
    try {
      return [key, text === undefined ? undefined : declared.parse(text)]
    } catch (error) {
      const shown = declared.secret ? '' : ` (found ${JSON.stringify(text)})`
      mistakes.push(`${declared.name}: ${(error as Error).message}${shown}`)
      return [key, undefined]
    }
  })
  const config = Object.fromEntries(entries) as Config
  mistakes.push(...misspelt(environment, 'mistake'), ...(mistakes.length === 0 ? contradictions(config) : []))
  if (mistakes.length > 0) {
    throw new StartError(
      [
        'The configuration is invalid:',
        ...mistakes.map((mistake) => `  - ${mistake}`),
        'See docs/configuration.md for all settings.',
      ].join('\n'),
    )
  }
  return { ...config, ...unusedByRole[config.role] }
}

/** A secret setting can be read from a file instead, so that it is not in the environment. */
export const fileSettings: ReadonlyMap<string, string> = new Map(
  Object.values<Setting<unknown>>(settings)
    .filter(({ secret }) => secret)
    .map(({ name }) => [`${name}_FILE`, name]),
)

/** What a role does not use, it does not get: the connections of a service are counted from its configuration. */
const unusedByRole = {
  all: {},
  api: { importWorkers: 0, reasoningConcurrency: 0, webhookConcurrency: 0 },
  work: { databaseConnections: 2, costlyQueries: 1 },
} as const

/** Names that look like a misspelled setting but may belong to another program: reported, not rejected. */
export const configWarnings = (environment: Environment): string[] => misspelt(environment, 'warning')

function contradictions({
  costlyQueries,
  databaseConnections,
  metricsPort,
  port,
  smtpUrl,
  mailFrom,
  databaseUrl,
  role,
  plaintextHosts,
  ...reasoning
}: Config): string[] {
  const found: string[] = []
  if (role !== 'all' && databaseUrl === undefined)
    found.push(`ROLE=${role} requires DATABASE_URL: only one service can use the embedded database`)
  if (costlyQueries >= databaseConnections) found.push('MAX_UNINDEXED_QUERIES must be below DATABASE_CONNECTIONS')
  if (metricsPort !== undefined && metricsPort !== 0 && metricsPort === port)
    found.push('METRICS_PORT must differ from PORT')
  const plaintextHost = databaseUrl === undefined ? undefined : unencryptedHost({ connectionString: databaseUrl })
  if (plaintextHost && !allowsPlaintext(plaintextHosts, plaintextHost)) {
    found.push(
      `DATABASE_URL connects to ${plaintextHost.host} without TLS: add sslmode=verify-full, or add the host to PLAINTEXT_HOSTS`,
    )
  }
  if (smtpUrl && !mailFrom) found.push('SMTP_URL requires MAIL_FROM, the sender address of mails')
  return [...found, ...reasoningContradictions({ ...reasoning, plaintextHosts })]
}

/** Short names may belong to other programs, so only a long misspelled name is an error. */
const longName = 8
const otherPrograms = new Set(['HOME', 'HOSTS', 'POST', 'PORTS', 'SECRETS'])
/** Similar to a setting, but also a setting of cron: only a warning. */
const ambiguous = new Set(['MAILFROM'])

function misspelt(environment: Environment, severity: 'mistake' | 'warning'): string[] {
  const names = [...Object.values(settings).map(({ name }) => name), ...fileSettings.keys()]
  return Object.keys(environment)
    .filter((name) => !names.includes(name) && !otherPrograms.has(name) && environment[name])
    .flatMap((name) => {
      const suggestion = nearest(
        name.toUpperCase(),
        names.filter((known) => !environment[known]),
      )
      if (!suggestion || (suggestion.length < longName || ambiguous.has(name) ? 'warning' : 'mistake') !== severity)
        return []
      return [`${name} is not a setting; did you mean ${suggestion}?`]
    })
}

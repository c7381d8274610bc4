import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { activateNextSecret, findNextSecret, nextSecretFile, storeNextSecret } from '../platform/secret/next-secret.ts'
import { fingerprint, loadSecret, newSecret, type Secret, secretFile } from '../platform/secret/secret.ts'
import type { Config } from '../config.ts'
import { connect } from '../platform/database/connect.ts'
import { isConnectionLoss, sqlState } from '../platform/database/failures.ts'
import { Interrupted } from '../platform/database/interrupted.ts'
import { StartError } from '../platform/database/start-error.ts'
import { Failure } from './command.ts'
import { countServiceConnections } from './restore-target.ts'
import { type ReencryptionCounts, reencryptAll } from './encrypted-columns.ts'

export interface ReplaceSecretOptions {
  connection: pg.ClientConfig
  /** The data folder with the secret file; undefined if SECRET is set, which only the operator can change. */
  dataFolder: string | undefined
  current: Secret
  /** The new secret; if undefined, a random one that is stored in the data folder. */
  given: Secret | undefined
  /** Interrupts the replacement until the commit begins. */
  signal?: AbortSignal
}

export interface ReplacementResult extends ReencryptionCounts {
  /** File with the old secret, for older backups. */
  keptIn: string | null
}

/**
 * Replaces the secret of a database that no service uses, in one transaction. The next secret is written to the data
 * folder before the commit and replaces the current one after it. Whenever the process is killed, the database belongs
 * to one of the two, and the next start finds out which. Errors: `Failure`, `Interrupted`.
 */
export async function replaceSecret(replacement: ReplaceSecretOptions): Promise<ReplacementResult> {
  const { connection, dataFolder, current, signal } = replacement
  const client = await connect({ ...connection, keepAlive: true, application_name: 'rapport secret' })
  const interrupt = () => client.connection.stream.destroy()
  signal?.addEventListener('abort', interrupt)
  let isCommitting = false
  try {
    await lockDatabase(client, connection)
    const resealed = await reencrypt(client, replacement)
    signal?.removeEventListener('abort', interrupt)
    isCommitting = true
    await client.query('commit')
    return { ...resealed, keptIn: dataFolder === undefined ? null : await activateNextSecret(dataFolder, current) }
  } catch (error) {
    throw translateError(error, { isCommitting, isInterrupted: signal?.aborted ?? false })
  } finally {
    signal?.removeEventListener('abort', interrupt)
    // Without a regular end: after an error, the protocol state is unknown. The server rolls back.
    interrupt()
  }
}

function translateError(
  error: unknown,
  { isCommitting, isInterrupted }: { isCommitting: boolean; isInterrupted: boolean },
) {
  if (!isConnectionLoss(error)) return error
  if (isCommitting) {
    return new Failure(
      'The connection was lost at the very end. The secret may or may not have been replaced. Run the command again.',
      { cause: error },
    )
  }
  return isInterrupted ? new Interrupted('Interrupted: nothing was changed.', { cause: error }) : error
}

/**
 * Begins the transaction. A service that starts meanwhile waits to read the fingerprint, and refuses to start if it has
 * changed.
 */
async function lockDatabase(client: pg.Client, connection: pg.ClientConfig): Promise<void> {
  await client.query(`set lock_timeout = '10s'; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0`)
  // Lets the server notice that this process was killed. Not supported on every system.
  await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)
  await client.query('begin')
  await client.query('lock table instance in access exclusive mode')
  const services = await countServiceConnections(client, connection)
  if (services === 0) return
  throw new Failure(
    `${services} connections of services are open on this database. Nothing was changed. Stop every service first.`,
  )
}

const alreadyDone: ReencryptionCounts = { resealed: 0, endedSessions: 0, deletedAnswers: 0 }

async function reencrypt(
  client: pg.Client,
  { dataFolder, current, given }: ReplaceSecretOptions,
): Promise<ReencryptionCounts> {
  const leftover = dataFolder === undefined ? undefined : await findNextSecret(dataFolder)
  const stored = await storedFingerprint(client)
  const next = given ?? leftover ?? newSecret()
  // An earlier run was killed between the commit and its end.
  if (stored === fingerprint(next)) return alreadyDone
  if (stored !== fingerprint(current)) {
    throw new Failure(
      leftover !== undefined && stored === fingerprint(leftover)
        ? 'An earlier replacement was interrupted at its end. Nothing was changed. Run the command without --new-file to finish it, then run it again.'
        : 'The database belongs to a different secret than the current one. Nothing was changed.',
    )
  }
  if (dataFolder !== undefined) await storeNextSecret(dataFolder, next)
  return reencryptAll(client, { current, next })
}

async function storedFingerprint(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(`select value from instance where name = 'secret_fingerprint'`)
  return rows[0]?.value
}

/**
 * The secret of this installation. Finishes a replacement that was killed after its commit. Creates none for a database
 * that has one. Error: `StartError`.
 */
export async function currentSecret(
  { dataFolder, secret: given }: Pick<Config, 'dataFolder' | 'secret'>,
  connection: pg.ClientConfig,
): Promise<Secret> {
  if (given === undefined) await assertNotLost(dataFolder, connection)
  const current = await loadSecret({ dataFolder, given })
  const next = given === undefined ? await findNextSecret(dataFolder) : undefined
  if (next === undefined) return current
  const client = await connect(connection).catch((cause: unknown) => {
    throw new StartError(
      `A replacement of the secret was interrupted (${nextSecretFile} is in ${dataFolder}), and the database is unavailable. Start again when it is available.`,
      { cause },
    )
  })
  const stored = await storedFingerprint(client).finally(() => client.end())
  if (stored !== fingerprint(next)) return current
  await activateNextSecret(dataFolder, current)
  return next
}

/** If the database is unavailable, the comparison after it has become available refuses a wrong secret. */
async function assertNotLost(dataFolder: string, connection: pg.ClientConfig): Promise<void> {
  const file = join(dataFolder, secretFile)
  if (await exists(file)) return
  const client = await connect({ ...connection, statement_timeout: 3000 }, 3000).catch(() => undefined)
  if (!client) return
  try {
    const stored = await storedFingerprint(client).catch((error: unknown) => {
      if (sqlState(error) === undefined) throw error
      return undefined
    })
    // Another first start may have created both meanwhile.
    if (stored === undefined || (await exists(file))) return
  } finally {
    await client.end()
  }
  throw missingError(file)
}

/** Does this installation have a secret, right or wrong? */
export const hasSecret = async ({ dataFolder, secret }: Pick<Config, 'dataFolder' | 'secret'>): Promise<boolean> =>
  secret !== undefined || exists(join(dataFolder, secretFile))

/** Deletes a secret that this start created while the database, which has another one, was unavailable. Throws. */
export async function withdrawSecret({ dataFolder }: Pick<Config, 'dataFolder'>, error: unknown): Promise<never> {
  if (!(error instanceof StartError)) throw error
  await rm(join(dataFolder, secretFile), { force: true })
  throw missingError(join(dataFolder, secretFile))
}

const missingError = (file: string): StartError =>
  new StartError(
    `The secret of this database is missing: there is neither SECRET nor ${file}. Nothing was changed, and no new secret was stored. ${whereToFind}`,
  )

const whereToFind =
  'Copy it from where you store it next to your backups, from an earlier DATA_DIR, or set SECRET as in the unit or .env of the service that was first started on this database. If it is lost, `rapport restore --new-secret` restores a backup without it (docs/guides/backup.md).'

const exists = async (file: string): Promise<boolean> => (await stat(file).catch(() => undefined)) !== undefined

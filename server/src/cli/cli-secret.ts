import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Config } from '../config.ts'
import { loadSecret, parseSecret, type Secret, secretFile } from '../platform/secret/secret.ts'
import { findService } from './service-file.ts'
import { withBareDatabase } from './bare-database.ts'
import { printResult, configuration, Failure, UsageError, withExample } from './command.ts'
import { formatCount } from './progress.ts'
import { type ReplacementResult, replaceSecret } from './replace-secret.ts'
import { compareSchema } from './schema.ts'

interface Options {
  newFile?: string
  json?: boolean
}

/** `rapport secret`: replaces the secret of the installation. */
export const secretCommand = () =>
  withExample(
    new Command('secret').description('Replace the secret of the installation.').addCommand(replaceCommand()),
    '$ rapport secret replace',
  )

const replaceCommand = () =>
  withExample(
    new Command('replace')
      .description(
        'Re-encrypt everything that SECRET encrypts with a new secret, and end all sessions. If it fails, nothing changes. Stop every service first.',
      )
      .option(
        '--new-file <file>',
        'file with the new secret, such as the output of `openssl rand -hex 32`; required if SECRET is set',
      )
      .option('--json', 'print one JSON object: {"resealed", "endedSessions", "deletedAnswers", "keptIn"}')
      .action(run),
    '$ rapport secret replace\n$ openssl rand -hex 32 > new-secret && rapport secret replace --new-file new-secret',
  )

async function run({ newFile, json }: Options): Promise<void> {
  const config = configuration()
  const { dataFolder, secret } = config
  if (secret !== undefined && newFile === undefined) {
    throw new UsageError('SECRET is set, so the command cannot change it. Provide the new one with --new-file <file>.')
  }
  const given = newFile === undefined ? undefined : await readNew(newFile)
  const current = await loadCurrentSecret(config)
  if (given?.equals(current))
    throw new UsageError(
      `${newFile} contains the current secret. Create a new one, for example with \`openssl rand -hex 32\`.`,
    )
  const service = await findService(dataFolder)
  if (service) throw new Failure(stopFirst(`A service (process ${service.pid}) is running on ${dataFolder}`))
  const replaced = await withBareDatabase(config, 'rapport secret', async ({ connection, attached, signal }) => {
    if (attached) throw new Failure(stopFirst('A service is running on this database'))
    const { missing, newer } = await compareSchema(connection)
    if (missing.length > 0 || newer.length > 0) {
      throw new Failure(
        'The database schema does not match this code. Nothing was changed. Run `rapport migrate` first, or use the version that the service runs.',
      )
    }
    return replaceSecret({
      connection,
      dataFolder: secret === undefined ? dataFolder : undefined,
      current,
      given,
      signal,
    })
  })
  printResult(json ? JSON.stringify(replaced) : describe(replaced))
}

const stopFirst = (what: string): string => `${what}. Nothing was changed. Stop it first.`

async function readNew(file: string): Promise<Secret> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`)
  })
  return parseSecret(text)
}

/** Never creates a secret: the command needs the one that the database was encrypted with. */
async function loadCurrentSecret({ dataFolder, secret: given }: Config): Promise<Secret> {
  const file = join(dataFolder, secretFile)
  if (given === undefined && !(await stat(file).catch(() => undefined))) {
    throw new Failure(`Neither SECRET nor ${file} exists. Provide the current secret first.`)
  }
  return loadSecret({ dataFolder, given })
}

function describe({ resealed, endedSessions, deletedAnswers, keptIn }: ReplacementResult): string {
  const lines = [
    `The secret was replaced: re-encrypted ${formatCount(resealed)} values, ended ${formatCount(endedSessions)} sessions, deleted ${formatCount(deletedAnswers)} stored responses.`,
    keptIn === null
      ? 'Set SECRET to the new one for every service before you start it. Store the old one as long as you have older backups.'
      : `The old one is in ${keptIn}. Delete it when you no longer have older backups.`,
  ]
  return lines.join('\n')
}

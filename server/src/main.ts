import { Command, CommanderError } from 'commander'
import { apiKeyCommand } from './cli/cli-api-key.ts'
import { backupCommand } from './cli/cli-backup.ts'
import { bootstrapCommand } from './cli/cli-bootstrap.ts'
import { demoCommand } from './cli/cli-demo.ts'
import { importCommand } from './cli/cli-import.ts'
import { mailCommand } from './cli/cli-mail.ts'
import { organizationCommand } from './cli/cli-organization.ts'
import { keysCommand } from './cli/cli-keys.ts'
import { restoreCommand } from './cli/cli-restore.ts'
import { secretCommand } from './cli/cli-secret.ts'
import { upgradeDatabaseCommand } from './cli/cli-upgrade-database.ts'
import { doctorCommand } from './cli/doctor.ts'
import { CommandExit, type ExitCode, Failure, printMessage, UsageError, withExample } from './cli/command.ts'
import { migrateCommand } from './cli/migrate.ts'
import { routesCommand } from './cli/routes.ts'
import { startCommand } from './cli/start.ts'
import { userCommand } from './cli/cli-user.ts'
import { explainFileError } from './platform/files/explain.ts'
import { StartError } from './platform/database/start-error.ts'
import { version } from './release.ts'

/** Runs one command and resolves to the exit code of the process. */
export async function main(args: readonly string[]): Promise<ExitCode> {
  try {
    await program().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    return reportError(error)
  }
}

/** A worker process of `rapport start` with PROCESSES: serves until its primary closes it or exits. */
export async function serveAsWorker(): Promise<ExitCode> {
  try {
    // Loaded here, because no command needs it.
    await (await import('./processes/worker.ts')).runWorker()
    return 0
  } catch (error) {
    return reportError(error)
  }
}

/** The OpenAPI document, for the build (scripts/build-document.mjs). */
export async function apiDocument(): Promise<string> {
  // Loaded here, because few commands need all declarations.
  return (await import('./api-document.ts')).formatApiDocument()
}

/** All commands. Exported for tests. */
export function program(): Command {
  const commands = [
    startCommand(),
    bootstrapCommand(),
    apiKeyCommand(),
    importCommand(),
    organizationCommand(),
    userCommand(),
    mailCommand(),
    keysCommand(),
    secretCommand(),
    demoCommand(),
    migrateCommand(),
    doctorCommand(),
    routesCommand(),
    backupCommand(),
    restoreCommand(),
    upgradeDatabaseCommand(),
  ]
  const rapport = new Command('rapport').description('A contact, campaign and import service.').version(version())
  for (const command of commands) rapport.addCommand(command)
  withExample(rapport, '$ rapport start\n$ rapport bootstrap --email you@example.com --organization "Your company"')
  const prepare = (command: Command): void => {
    command.exitOverride().showHelpAfterError('(add --help for an explanation)')
    for (const child of command.commands) prepare(child)
  }
  prepare(rapport)
  return rapport
}

function reportError(error: unknown): ExitCode {
  if (error instanceof CommandExit) return error.code
  // Commander has printed the error. Asking for help or the version is a success.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof UsageError) {
    printMessage(`error: ${error.message}`)
    return 2
  }
  if (error instanceof StartError || error instanceof Failure) {
    printMessage(error.message)
    return error instanceof Failure ? 1 : 3
  }
  printMessage(error instanceof Error ? (error.stack ?? error.message) : String(error))
  const why = explainFileError(error)
  if (why !== undefined) printMessage(`This error of the system means: ${why}`)
  return 1
}

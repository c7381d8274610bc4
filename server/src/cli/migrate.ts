import { Command } from 'commander'
import { printResult, configuration, printMessage, withExample } from './command.ts'
import { withRapport } from './open.ts'

/** `rapport migrate`: migrates the database without starting the service. */
export const migrateCommand = () =>
  withExample(
    new Command('migrate')
      .description('Migrate the database to this version. A start does this too.')
      .option(
        '--distribute',
        'distribute existing records over the workers of a Citus cluster. Stop all services first. If it is interrupted, run it again',
      )
      .option('--json', 'print one JSON object: {"applied": [names]}')
      .action(run),
    '$ DATABASE_URL=postgres://rapport@db.example.com/rapport rapport migrate',
  )

async function run({ json, distribute = false }: { json?: boolean; distribute?: boolean }): Promise<void> {
  const options = {
    config: configuration(),
    purpose: 'rapport migrate',
    log: printMessage,
    distributes: distribute,
  } as const
  const applied = await withRapport(options, ({ prepared }) => prepared)
  printResult(json ? JSON.stringify({ applied }) : 'The database is up to date.')
}

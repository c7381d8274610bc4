import { Command } from 'commander'
import { answer, configuration, tell, withExample } from './command.ts'
import { withRapport } from './open.ts'

/** `rapport migrate`: brings the database to this version without serving. */
export const migrateCommand = () =>
  withExample(
    new Command('migrate')
      .description('Bring the database to this version of the code. Starting does so as well.')
      .option('--json', 'answer with one JSON object')
      .action(run),
    '$ DATABASE_URL=postgres://rapport@db.example.com/rapport rapport migrate',
  )

async function run({ json }: { json?: boolean }): Promise<void> {
  const applied: string[] = []
  const log = (message: string) => {
    applied.push(message)
    tell(message)
  }
  await withRapport({ config: configuration(), purpose: 'rapport migrate', log }, async () => undefined)
  answer(json ? JSON.stringify({ upToDate: true }) : 'The database is up to date.')
}

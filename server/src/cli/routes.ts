import { Command } from 'commander'
import { formatRoutes, listRoutes } from '../platform/openapi/routes-reference.ts'
import { printResult, withExample } from './command.ts'

/** `rapport routes`: prints every route of the API with what it needs. */
export const routesCommand = () =>
  withExample(
    new Command('routes')
      .description('List every route of the API with the scope that it needs. Needs no database.')
      .option('--json', 'print one JSON object: {"routes": [{method, path, scope, needs}]}')
      .action(run),
    '$ rapport routes\n$ rapport routes --json',
  )

async function run({ json }: { json?: boolean }): Promise<void> {
  // Loaded here, because few commands need all declarations.
  const listed = listRoutes((await import('../app.ts')).routes)
  printResult(json ? JSON.stringify({ routes: listed }) : formatRoutes(listed))
}

import { Command } from 'commander'
import { type Config, configWarnings, parseConfig } from '../config.ts'
import { StartError } from '../platform/database/start-error.ts'
import { printResult, CommandExit, withExample } from './command.ts'
import { examineDatabase } from './examine-database.ts'
import { examineMachine } from './examine-machine.ts'
import { examineService } from './examine-service.ts'
import { findService } from './service-file.ts'
import type { Finding } from './finding.ts'

/** `rapport doctor`: reports problems and what to do. It changes nothing. */
export const doctorCommand = () =>
  withExample(
    new Command('doctor')
      .description('Check this installation, and report problems and what to do. Changes nothing.')
      .option('--json', 'print one JSON object: {"healthy", "findings": [{name, state, message, advice}]}')
      .action(run),
    '$ rapport doctor\n$ rapport doctor --json',
  )

async function run({ json }: { json?: boolean }): Promise<void> {
  const findings = await examine()
  const healthy = findings.every(({ state }) => state !== 'wrong')
  printResult(json ? JSON.stringify({ healthy, findings }) : describe(findings, healthy))
  if (!healthy) throw new CommandExit(1)
}

async function examine(): Promise<Finding[]> {
  let config: Config
  try {
    config = parseConfig(process.env)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return [
      { name: 'configuration', state: 'wrong', message: error.message, advice: 'Correct the environment variables.' },
    ]
  }
  return [
    ...examineConfiguration(),
    ...(await examineMachine(config, (await findService(config.dataFolder))?.pid)),
    ...(await examineService(config)),
    ...(await examineDatabase(config)),
  ]
}

/** Reports settings that are probably misspelled. The others are valid, or `parseConfig` would have failed. */
export function examineConfiguration(): Finding[] {
  const name = 'configuration'
  const warnings = configWarnings(process.env)
  if (warnings.length === 0) return [{ name, state: 'ok', message: 'valid' }]
  return warnings.map((message) => ({ name, state: 'note', message }))
}

const labels = { ok: 'ok   ', note: 'note ', wrong: 'WRONG' }

function describe(findings: readonly Finding[], healthy: boolean): string {
  const lines = findings.map(({ name, state, message, advice }) => {
    const first = `${labels[state]}  ${name}: ${message}`
    return advice === undefined ? first : `${first}\n       → ${advice}`
  })
  return [...lines, '', healthy ? 'No problems found.' : 'Problems found; see above.'].join('\n')
}

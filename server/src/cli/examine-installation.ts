import type pg from 'pg'
import type { Config } from '../config.ts'
import type { SystemFinding } from '../api/system/installation.ts'
import { examineConfiguration } from './doctor.ts'
import { examineConnection } from './examine-database.ts'
import { withInvocation } from './invocation.ts'
import { examineMachine } from './examine-machine.ts'
import type { Finding } from './finding.ts'

const levels = { ok: 'ok', note: 'warning', wrong: 'error' } as const

/** The checks of `rapport doctor` within a running service, which is reachable and has a database. */
export async function examineInstallation(config: Config, connection: pg.ClientConfig): Promise<SystemFinding[]> {
  const findings: Finding[] = [
    ...examineConfiguration(),
    ...(await examineMachine(config)),
    ...(await examineConnection(connection, config)),
  ]
  return findings.map(({ name, state, message, advice }) => ({
    level: levels[state],
    name,
    message: withInvocation(message),
    advice: advice === undefined ? null : withInvocation(advice),
  }))
}

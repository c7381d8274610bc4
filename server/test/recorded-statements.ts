import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A statement that another process sent, and the application name of its connection. */
export interface RecordedStatement {
  name: string
  text: string
}

/** Test files of one worker run one after the other. */
const folder = join(tmpdir(), `rapport-statements-${process.pid}`)

/** With these settings, a process of Node.js records its statements. */
export const recording = {
  NODE_OPTIONS: `--import=${new URL('record-statements.mjs', import.meta.url).href}`,
  RECORDED_STATEMENTS: folder,
}

/** What was recorded since the last call. */
export function takeRecordedStatements(): RecordedStatement[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  rmSync(folder, { recursive: true })
  return files
    .flatMap((content) => content.split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as RecordedStatement)
}

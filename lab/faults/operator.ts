import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type OperatorFault, operatorFaults } from './operator-faults.ts'
import { Installation } from './operator-place.ts'
import { Guarantees, type Run, type ScenarioResult } from './scenario.ts'
import { createTemplate } from './template.ts'
import { createFaultsWorkspace } from './workspace.ts'

/** Milliseconds for the log to explain a fault. */
const logTimeout = 40_000

/** Causes each fault that operators meet, and shows what log, doctor and guide say about it. */
export async function operator(
  run: Run,
  only: readonly string[] = Object.keys(operatorFaults),
): Promise<ScenarioResult> {
  const template = run.template ?? (await createTemplate(run.root))
  const workspace = await createFaultsWorkspace(run.root)
  const guide = await readFile(join(run.root, 'docs/guides/troubleshooting.md'), 'utf8')
  const guarantees = new Guarantees()
  const figures: ScenarioResult['figures'] = {}
  for (const [index, [name, fault]] of Object.entries(operatorFaults).entries()) {
    if (!only.includes(name)) continue
    if (fault.needsRoot && process.getuid?.() !== 0) {
      figures[name] = 'skipped: needs root'
      continue
    }
    run.log(name)
    const place = await Installation.create(workspace, template, String(index))
    try {
      await fault.cause(place, { ...template.account }, run.root)
      const said = await explanations(place, fault, guide)
      for (const [source, text] of Object.entries(said)) {
        run.log(`  ${source.padEnd(6)} ${text ?? 'NOTHING'}`)
        guarantees.check(`${name}: the ${source} explains it`, text !== undefined, place.printed.slice(-600))
      }
      figures[name] = Object.values(said).every((text) => text !== undefined) ? 'explained' : 'NOT EXPLAINED'
    } finally {
      await place.remove()
    }
  }
  await workspace.remove()
  if (!run.template) await template.remove()
  return { figures, broken: guarantees.broken }
}

async function explanations(place: Installation, { log, doctor, guide: heading }: OperatorFault, guide: string) {
  for (const end = performance.now() + logTimeout; log && !log.test(place.printed); await delay(100)) {
    if (performance.now() > end) break
  }
  const examined = await place.run(['doctor'])
  return {
    log: log === undefined ? 'has no reason to say anything' : lineOf(place.printed, log),
    doctor: lineOf(examined, doctor),
    guide: lineOf(guide, new RegExp(heading.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))),
  }
}

/** The first line that matches, shortened, or undefined. */
function lineOf(text: string, pattern: RegExp): string | undefined {
  const at = pattern.exec(text)?.index
  if (at === undefined) return undefined
  const line = text.slice(text.lastIndexOf('\n', at) + 1).split('\n', 1)[0] ?? ''
  const { msg, error, remedy } = line.startsWith('{') ? (JSON.parse(line) as Record<string, string>) : { msg: line }
  const shown = [msg, error, remedy].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ').trim()
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown
}

import { createHash } from 'node:crypto'
import type { Egress } from '../../platform/egress/egress.ts'
import {
  type Analyse,
  type Analysis,
  analysedText,
  type Degradation,
  type Interpretation,
  type Note,
  type NoteFacts,
  timeZoneOf,
} from './analysis.ts'
import { createClient, type ModelSettings } from './model/client.ts'
import { Breaker, type TokenBudget } from './model/limits.ts'
import { ask, type ModelEngine } from './model/model.ts'
import { promptVersion, sharedFacts } from './model/prompt.ts'
import type { RulesResult } from './rules/rules.ts'
import { rulesVersion } from './rules/version.ts'

/** What reads the words of a note, which takes time: in this thread (`local-rules.ts`) or in another (`rules-thread.ts`). */
export interface Rules {
  interpret(text: string, facts: NoteFacts): Promise<RulesResult>
  verify(interpretation: Interpretation, note: Note, facts: NoteFacts): Promise<Interpretation>
}

export interface ModelOptions {
  rules: Rules
  settings: ModelSettings
  egress: Egress
  budget: TokenBudget
  breaker?: Breaker
  /** Milliseconds; default 10,000. */
  timeout?: number
}

/** Phrases and dates only: offline and deterministic. */
export const createRulesAnalyser =
  (rules: Rules): Analyse =>
  async (note, facts, signal) => {
    signal.throwIfAborted()
    const began = performance.now()
    const { interpretation } = await rules.interpret(analysedText(note), facts)
    const verified = await rules.verify(interpretation, note, facts)
    return analysisOf(verified, { note, facts, began, engine: 'rules', model: null })
  }

/**
 * Rules first, then the model. The model is not asked about notes that opt out or look like an injection, and if it
 * fails, the result is that of the rules, marked as degraded.
 */
export function createModelAnalyser({ rules, settings, egress, budget, breaker, timeout }: ModelOptions): Analyse {
  const engine: ModelEngine = {
    complete: createClient(settings, egress),
    budget,
    breaker: breaker ?? new Breaker(),
    timeout: timeout ?? 10_000,
  }
  const { model } = settings
  return async (note, facts, signal) => {
    signal.throwIfAborted()
    const began = performance.now()
    const text = analysedText(note)
    const { interpretation: byRules, isHardOptOut } = await rules.interpret(text, facts)
    const source = { note, facts, began, model }
    if (isHardOptOut || byRules.suspicious || text.trim() === '') {
      return analysisOf(await rules.verify(byRules, note, facts), { ...source, engine: 'rules', model: null })
    }
    const result = await ask(engine, { organizationId: note.organizationId, text, facts }, signal)
    const { interpretation, tokens } = result
    if (interpretation) {
      const verified = await rules.verify(interpretation, note, facts)
      return analysisOf(verified, { ...source, engine: 'model', tokens })
    }
    const { reason } = result
    return analysisOf(await rules.verify(byRules, note, facts), {
      ...source,
      engine: 'rules',
      tokens,
      degradedReason: reason,
    })
  }
}

interface Source {
  note: Note
  facts: NoteFacts
  began: number
  engine: 'rules' | 'model'
  model: string | null
  tokens?: number
  degradedReason?: Degradation
}

function analysisOf(interpretation: Interpretation, source: Source): Analysis {
  const { note, facts, began, engine, model, tokens = 0, degradedReason } = source
  return {
    ...interpretation,
    engine,
    model,
    promptVersion: model === null ? rulesVersion : `${rulesVersion} ${promptVersion}`,
    inputHash: inputHash(note, facts, model),
    latencyMs: Math.round(performance.now() - began),
    tokens,
    degraded: degradedReason !== undefined,
    ...(degradedReason !== undefined && { degradedReason }),
  }
}

/** The same hash means the same note, facts, versions and model, on the same day. */
function inputHash(note: Note, facts: NoteFacts, model: string | null): string {
  const { localTime, ...shared } = sharedFacts(facts)
  const day = localTime.slice(0, 10)
  const own = { contactEmails: facts.contactEmails, contactPhones: facts.contactPhones, zone: timeZoneOf(facts) }
  const input = [analysedText(note), { ...shared, ...own, day }, rulesVersion, promptVersion, model]
  return createHash('sha256').update(JSON.stringify(input)).digest('hex')
}

import type { Loop } from '../../platform/background/loop.ts'
import type { AllowedHost } from '../../platform/egress/allow.ts'
import { reasoningEgress } from '../settings.ts'
import { rulesFile } from '../../release.ts'
import { createModelAnalyser, createRulesAnalyser } from '../analysis/analyser.ts'
import { RulesThread } from '../analysis/rules-thread.ts'
import { type AnalysisWorkersOptions, createAnalysisWorkers } from '../work/analysis-workers.ts'
import { storedTokenBudget } from '../work/token-store.ts'

export interface NoteAnalysisOptions extends Pick<
  AnalysisWorkersOptions,
  'database' | 'log' | 'wakeups' | 'ready' | 'onAnalysed'
> {
  reasoningUrl: string | undefined
  reasoningModel: string | undefined
  reasoningApiKey: string | undefined
  reasoningTokensPerDay: number
  reasoningConcurrency: number
  plaintextHosts: readonly AllowedHost[]
}

/** Notes that the rules read in one transaction; each takes about a millisecond. */
const notesOfRules = 50

/** Starts the workers that analyse notes, and logs which engine they use. */
export function startNoteAnalysis({
  reasoningUrl: url,
  reasoningModel: model,
  reasoningApiKey: apiKey,
  reasoningTokensPerDay,
  reasoningConcurrency: workers,
  plaintextHosts,
  database,
  log,
  wakeups,
  ready,
  onAnalysed,
}: NoteAnalysisOptions): Loop {
  const rules = new RulesThread({ file: rulesFile })
  const start = (engine: Pick<AnalysisWorkersOptions, 'analyse' | 'maxNotes'>): Loop => {
    const shared = { database, log, wakeups, ready, workers, ...(onAnalysed && { onAnalysed }) }
    const analysisWorkers = createAnalysisWorkers({ ...shared, ...engine })
    return {
      wake: analysisWorkers.wake,
      close: async () => {
        await analysisWorkers.close()
        await rules.close()
      },
    }
  }
  if (url === undefined || model === undefined) {
    return start({ analyse: createRulesAnalyser(rules), maxNotes: notesOfRules })
  }
  log.info({ url, model }, 'notes: analysed by this model')
  const analyse = createModelAnalyser({
    rules,
    settings: { url, model, apiKey },
    egress: reasoningEgress(url, plaintextHosts),
    budget: storedTokenBudget(database, reasoningTokensPerDay),
  })
  return start({ analyse, maxNotes: 1 })
}

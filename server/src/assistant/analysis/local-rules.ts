import { createRulesAnalyser, type Rules } from './analyser.ts'
import { interpret } from './rules/rules.ts'
import { verify } from './verify.ts'

/** Reads notes in this thread, which does nothing else meanwhile. */
export const localRules: Rules = {
  async interpret(text, facts) {
    return interpret(text, facts)
  },
  async verify(interpretation, note, facts) {
    return verify(interpretation, note, facts)
  },
}

export const analyseByRules = createRulesAnalyser(localRules)

import type { Degradation, Interpretation, NoteFacts } from '../analysis.ts'
import type { Breaker, TokenBudget } from './limits.ts'
import { type Complete, type Completion, estimateTokens, maxOutputTokens, ModelError } from './client.ts'
import { interpretationOf, parseOutput } from './output.ts'
import { type Message, messagesFor, repairMessage } from './prompt.ts'

export interface ModelEngine {
  complete: Complete
  budget: TokenBudget
  breaker: Breaker
  /** Milliseconds for all calls of one note. */
  timeout: number
}

/** What the model says about a note, not verified yet, or why there is no answer. */
export type ModelResult = { tokens: number } & (
  | { interpretation: Interpretation }
  | { interpretation: undefined; reason: Degradation }
)

interface Question {
  organizationId: string
  text: string
  facts: NoteFacts
}

/** Asks the model, and once more if the answer does not follow the schema. Rejects only if `signal` aborts. */
export async function ask(engine: ModelEngine, question: Question, signal: AbortSignal): Promise<ModelResult> {
  signal.throwIfAborted()
  if (!engine.breaker.allows()) return { interpretation: undefined, reason: 'breaker_open', tokens: 0 }
  const limited = AbortSignal.any([signal, AbortSignal.timeout(engine.timeout)])
  const messages = messagesFor(question.text, question.facts)
  let tokens = 0
  for (const repairs of [1, 0]) {
    const answer = await callWithinBudget(engine, question.organizationId, { messages, signal: limited })
    signal.throwIfAborted()
    tokens += answer.tokens
    if (answer.reason !== undefined) return { interpretation: undefined, reason: answer.reason, tokens }
    const read = parseOutput(answer.content)
    if ('output' in read) {
      return { interpretation: interpretationOf(read.output, question.text, question.facts), tokens }
    }
    if (repairs > 0) messages.push(repairMessage(read.errors))
  }
  return { interpretation: undefined, reason: 'invalid_output', tokens }
}

type Answer = ({ reason: undefined } & Completion) | { reason: Degradation; tokens: number }

async function callWithinBudget(
  { complete, budget, breaker }: ModelEngine,
  organizationId: string,
  { messages, signal }: { messages: readonly Message[]; signal: AbortSignal },
): Promise<Answer> {
  const reserved = estimateTokens(messages) + maxOutputTokens
  if (!(await budget.reserve(organizationId, reserved))) return { reason: 'budget_used_up', tokens: 0 }
  let used = 0
  try {
    const completion = await complete(messages, signal)
    used = completion.tokens
    breaker.succeeded()
    return { ...completion, reason: undefined }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    used = error.tokens
    // The author of a note can provoke the other errors, and must not stop the analysis of all notes.
    if (['timeout', 'unreachable', 'rejected'].includes(error.reason)) breaker.failed()
    return { reason: error.reason, tokens: used }
  } finally {
    await budget.correct(organizationId, { reserved, used })
  }
}

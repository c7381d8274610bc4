import type OpenAI from 'openai'
import type { Degradation } from '../analysis.ts'
import type { Egress } from '../../../platform/egress/egress.ts'
import { EgressError } from '../../../platform/egress/egress-error.ts'
import { outputSchema } from './output.ts'
import type { Message } from './prompt.ts'

export interface ModelSettings {
  /** The base of the OpenAI-compatible API, such as `http://localhost:11434/v1`. */
  url: string
  model: string
  apiKey: string | undefined
}

export interface Completion {
  content: string
  tokens: number
}

/** The model gave no answer that can be used; `reason` says why. */
export class ModelError extends Error {
  readonly reason: Degradation
  readonly tokens: number

  constructor(reason: Degradation, { cause, tokens = 0 }: { cause?: unknown; tokens?: number } = {}) {
    super(reason, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.tokens = tokens
  }
}

export const maxOutputTokens = 500

/** Sends one chat completion. Throws `ModelError`; `signal` limits its time. */
export type Complete = (messages: readonly Message[], signal: AbortSignal) => Promise<Completion>

export function createClient(settings: ModelSettings, egress: Egress): Complete {
  let client: Promise<OpenAI> | undefined
  return async (messages, signal) => {
    try {
      client ??= connect(settings, egress)
      const response: unknown = await (
        await client
      ).chat.completions.create({ ...parametersFor(settings), messages: [...messages] }, { signal })
      return parseCompletion(response, messages)
    } catch (error) {
      throw error instanceof ModelError ? error : await modelErrorOf(error, signal)
    }
  }
}

async function connect({ url, apiKey }: ModelSettings, egress: Egress): Promise<OpenAI> {
  const { default: Client } = await import('openai')
  return new Client({
    baseURL: url,
    // The library requires a key; without one of ours, `allowedHeaders` removes it.
    apiKey: apiKey ?? 'none',
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    fetch: (address, options = {}) =>
      egress.fetch(String(address), {
        method: options.method ?? 'GET',
        headers: allowedHeaders(options.headers, apiKey !== undefined),
        body: options.body,
        signal: options.signal ?? undefined,
      }),
  })
}

/** Only what the protocol needs: the library adds details of this machine, and headers from the environment. */
function allowedHeaders(headers: ConstructorParameters<typeof Headers>[0], hasKey: boolean): Record<string, string> {
  const names = ['accept', 'content-type', ...(hasKey ? ['authorization'] : [])]
  const given = new Headers(headers)
  return Object.fromEntries(names.flatMap((name) => (given.has(name) ? [[name, given.get(name) ?? '']] : [])))
}

const parametersFor = ({ url, model }: ModelSettings) => ({
  model,
  response_format: {
    type: 'json_schema' as const,
    json_schema: { name: 'note_analysis', strict: true, schema: outputSchema },
  },
  // OpenAI's newer models reject the names and values that all others understand.
  ...(new URL(url).hostname === 'api.openai.com'
    ? { max_completion_tokens: maxOutputTokens }
    : { max_tokens: maxOutputTokens, temperature: 0 }),
})

/** The library does not check responses, so nothing about this one is certain. */
interface UncheckedResponse {
  choices?: { message?: { content?: unknown; refusal?: unknown }; finish_reason?: unknown }[]
  usage?: { total_tokens?: unknown }
}

function parseCompletion(response: unknown, messages: readonly Message[]): Completion {
  const { choices, usage } = (typeof response === 'object' && response !== null ? response : {}) as UncheckedResponse
  const choice = Array.isArray(choices) ? choices[0] : undefined
  const content = choice?.message?.content
  const used = usage?.total_tokens
  const isCount = typeof used === 'number' && Number.isSafeInteger(used) && used > 0
  const tokens = isCount ? used : estimateTokens(messages) + (typeof content === 'string' ? maxOutputTokens : 0)
  if (choice?.message?.refusal || choice?.finish_reason === 'content_filter')
    throw new ModelError('refusal', { tokens })
  if (typeof content !== 'string') throw new ModelError('invalid_output', { tokens })
  return { content, tokens }
}

/** An upper bound for most languages, for servers that do not count and for the budget before a call. */
export const estimateTokens = (messages: readonly Message[]): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 3)

async function modelErrorOf(error: unknown, signal: AbortSignal): Promise<ModelError> {
  const { APIConnectionTimeoutError, APIError } = await import('openai')
  if (signal.aborted || error instanceof APIConnectionTimeoutError) return new ModelError('timeout', { cause: error })
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof EgressError) {
    const reasons: Partial<Record<EgressError['reason'], Degradation>> = {
      slow: 'timeout',
      large: 'invalid_output',
      response: 'invalid_output',
    }
    return new ModelError(reasons[cause.reason] ?? 'unreachable', { cause })
  }
  if (error instanceof APIError && error.status !== undefined) return new ModelError('rejected', { cause: error })
  return new ModelError(error instanceof SyntaxError ? 'invalid_output' : 'unreachable', { cause: error })
}

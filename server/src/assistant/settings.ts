import { type AllowedHost, parseAllowedHost } from '../platform/egress/allow.ts'
import { createEgress, type Egress } from '../platform/egress/egress.ts'
import { allowsPlaintext } from '../platform/egress/plaintext.ts'
import { address, integer, optional, setting } from '../settings.ts'

/** The settings of the analysis of notes. */
export const reasoningSettings = {
  reasoningConcurrency: setting({
    name: 'REASONING_CONCURRENCY',
    description:
      'Number of notes that this service sends to REASONING_URL at the same time; without it, the number of batches that the rules read. `0` leaves them to other services on the same database.',
    default: '4',
    example: '2',
    parse: integer(0, 32),
  }),
  reasoningUrl: optional({
    name: 'REASONING_URL',
    description:
      'Base URL of an OpenAI-compatible API that analyses notes, such as one of Ollama, vLLM or LM Studio. Notes are then sent to it. If unset, notes are analysed by built-in rules and never leave the service; if it fails, the rules take over. Its host may be internal without EGRESS_ALLOW; without TLS, it must be on this machine or in PLAINTEXT_HOSTS.',
    example: 'http://localhost:11434/v1',
    parse: (text) => {
      const url = address(text)
      hostOfUrl(url)
      return url
    },
  }),
  reasoningModel: optional({
    name: 'REASONING_MODEL',
    description:
      'Name of the model at REASONING_URL. It must support structured output (JSON Schema). Required with REASONING_URL.',
    example: 'qwen3:8b',
    parse: (text) => text.trim(),
  }),
  reasoningApiKey: optional({
    name: 'REASONING_API_KEY',
    description: 'Key for REASONING_URL, if it needs one.',
    example: 'the key from your provider',
    secret: true,
    parse: (text) => {
      if (/[^\x21-\x7e]/.test(text)) throw new Error('expected a key of printable ASCII characters without spaces')
      return text
    },
  }),
  reasoningTokensPerDay: setting({
    name: 'REASONING_TOKENS_PER_DAY',
    description:
      'Maximum number of tokens that the notes of one organization use at REASONING_URL per day (UTC). Further notes are analysed by the rules. `0` stops all calls.',
    default: '200000',
    example: '1000000',
    parse: integer(0, 999_999_999),
  }),
}

/** Errors of these settings together, and with PLAINTEXT_HOSTS. */
export function reasoningContradictions({
  reasoningUrl,
  reasoningModel,
  plaintextHosts,
}: {
  reasoningUrl: string | undefined
  reasoningModel: string | undefined
  plaintextHosts: readonly AllowedHost[]
}): string[] {
  if (reasoningUrl === undefined) return []
  const { protocol, hostname, port } = new URL(reasoningUrl)
  const host = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 80 }
  const isReadable = protocol === 'http:' && !allowsPlaintext(plaintextHosts, host)
  return [
    ...(reasoningModel === undefined ? ['REASONING_URL requires REASONING_MODEL, the name of the model'] : []),
    ...(isReadable
      ? [`REASONING_URL connects to ${host.host} without TLS: use https, or add the host to PLAINTEXT_HOSTS`]
      : []),
  ]
}

/** The host and port of a URL, as an entry of EGRESS_ALLOW. Error: the service never connects to it. */
function hostOfUrl(url: string): AllowedHost {
  const { protocol, hostname, port } = new URL(url)
  return parseAllowedHost(`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`)
}

/** Connects to REASONING_URL, internal or not, because the operator chose it, and to no other internal host. */
export const reasoningEgress = (url: string, plaintextHosts: readonly AllowedHost[]): Egress =>
  createEgress({ allowed: [hostOfUrl(url)], plaintextHosts })

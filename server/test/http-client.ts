import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface HttpRequest {
  method: string
  headers: Record<string, string>
  body: string | Uint8Array | undefined
}

export interface HttpResponse {
  status: number
  headers: Headers
  text: string
}

const agent = new Agent({ keepAlive: true })

/**
 * Sends a request and reads the whole response, but only the beginning of a stream of events, which has no end. The suite sends tens of thousands of them: this takes less than half of
 * the processor time of `fetch`, and follows no redirect.
 */
export async function sendRequest(url: string, { method, headers, body }: HttpRequest): Promise<HttpResponse> {
  const response = await exchange(url, { method, headers, body })
  const received = new Headers()
  for (let index = 0; index < response.rawHeaders.length; index += 2)
    received.append(response.rawHeaders[index] ?? '', response.rawHeaders[index + 1] ?? '')
  return {
    status: response.statusCode ?? 0,
    headers: received,
    text: isStream(response) ? await firstOf(response) : await text(response),
  }
}

const isStream = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false

/** Leaving the loop closes the connection. */
async function firstOf(response: IncomingMessage): Promise<string> {
  for await (const chunk of response) return String(chunk)
  return ''
}

function exchange(url: string, { method, headers, body }: HttpRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const common = { accept: '*/*', 'user-agent': 'node', ...length }
    const sent = request(url, { method, agent, headers: { ...common, ...headers } }, resolve)
    sent.once('error', (error: NodeJS.ErrnoException) => {
      // The service closed an idle connection while the request was in flight, and has not read it.
      if (sent.reusedSocket && error.code === 'ECONNRESET')
        exchange(url, { method, headers, body }).then(resolve, reject)
      else reject(error)
    })
    sent.end(body)
  })
}

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request that the server got, with its parsed body. */
export interface ModelRequest {
  path: string
  headers: IncomingHttpHeaders
  body: ModelRequestBody
}

interface ModelRequestBody {
  model: string
  messages: { role: string; content: string }[]
  response_format: { type: string; json_schema: { strict: boolean; schema: unknown } }
  max_tokens: number
}

/** How the server answers one request: the content of the message, or anything else by hand. */
export type ModelReply = string | ((response: ServerResponse, request: ModelRequest) => void)

/** A server that speaks the chat-completions protocol, and gives the replies in their order, the last one forever. */
export interface ModelServer {
  url: string
  port: number
  requests: ModelRequest[]
  reply(...replies: ModelReply[]): void
  close(): Promise<void>
}

export async function startModelServer(): Promise<ModelServer> {
  const requests: ModelRequest[] = []
  let replies: ModelReply[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ModelRequestBody
    const received = { path: request.url ?? '', headers: request.headers, body }
    requests.push(received)
    const reply = replies.length > 1 ? replies.shift() : replies[0]
    if (typeof reply === 'function') reply(response, received)
    else sendJson(response, completion(reply ?? ''))
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    reply: (...given) => {
      replies = given
      requests.length = 0
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A response of the protocol. */
export const completion = (content: string | null, others: Record<string, unknown> = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'test-model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content, refusal: null }, ...others }],
  usage: { prompt_tokens: 300, completion_tokens: 100, total_tokens: 400 },
})

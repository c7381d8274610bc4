/** A block of server-sent events: its name and id, if it has them, and its data, which is empty in a heartbeat. */
export interface StreamBlock {
  event: string | undefined
  id: string | undefined
  data: string
}

/** The blocks of a stream of server-sent events, as they arrive. */
export async function* blocksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamBlock> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      // A line can end with CR LF, the two of which may arrive separately.
      const blocks = text.replaceAll('\r\n', '\n').split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) yield parseBlock(block)
    }
  } finally {
    // The generator may be left before the stream has ended.
    await reader.cancel().catch(() => undefined)
  }
}

function parseBlock(block: string): StreamBlock {
  const parsed: StreamBlock = { event: undefined, id: undefined, data: '' }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (name === 'event') parsed.event = value
    if (name === 'id') parsed.id = value
    if (name === 'data') data.push(value)
  }
  return { ...parsed, data: data.join('\n') }
}

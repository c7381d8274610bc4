import { expect, test } from 'vitest'
import { blocksOf, type StreamBlock } from './event-stream.ts'

/** The blocks of a text that arrives in pieces of this many bytes. */
async function blocksIn(text: string, size: number): Promise<StreamBlock[]> {
  const bytes = new TextEncoder().encode(text)
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let start = 0; start < bytes.length; start += size) controller.enqueue(bytes.slice(start, start + size))
      controller.close()
    },
  })
  const found: StreamBlock[] = []
  for await (const block of blocksOf(stream)) found.push(block)
  return found
}

test('blocks are the same however the bytes are cut, and one that is incomplete is dropped', async () => {
  const text =
    'retry: 2000\n\nevent: presence\ndata: {}\n\nid: a-1\ndata: {"name":"Jörg: 💡"}\n\n: \nid: a-2\n\nid: a-3\ndata: {"cut"'
  const expected = [
    { event: undefined, id: undefined, data: '' },
    { event: 'presence', id: undefined, data: '{}' },
    { id: 'a-1', data: '{"name":"Jörg: 💡"}' },
    { id: 'a-2', data: '' },
  ]
  for (const size of [1, 2, 3, 7, 1000]) {
    expect(await blocksIn(text, size)).toEqual(expected)
    expect(await blocksIn(text.replaceAll('\n', '\r\n'), size)).toEqual(expected)
  }
})

test('leaving the loop ends the stream', async () => {
  let isCancelled = false
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('id: 1\n\nid: 2\n\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const { id } of blocksOf(stream)) if (id === '1') break
  expect(isCancelled).toBe(true)
})

import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { UsageError } from './command.ts'
import { promptLine } from './prompt.ts'

function terminal() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const controller = new AbortController()
  return { input, output, controller, reply: promptLine('Go on? ', { input, output, signal: controller.signal }) }
}

test('a prompt shows the question and resolves to the typed line', async () => {
  const { input, output, reply } = terminal()
  input.write('yess\u007f\r')
  expect(await reply).toBe('yes')
  output.end()
  expect(await text(output)).toContain('Go on? ')
})

test.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s cancels the prompt', async (_key, code) => {
  const { input, reply } = terminal()
  input.write(code)
  await expect(reply).rejects.toThrow(new UsageError('Cancelled.'))
})

test('the end of the input and an abort signal cancel the prompt', async () => {
  const [ended, aborted] = [terminal(), terminal()]
  ended.input.end()
  aborted.controller.abort()
  await expect(ended.reply).rejects.toThrow(new UsageError('Cancelled.'))
  await expect(aborted.reply).rejects.toThrow(new UsageError('Cancelled.'))
})

import { expect, test } from 'vitest'
import { compileInSlices } from './compilation.ts'

test('other work goes between two patterns that take long to compile', async () => {
  const events: string[] = []
  const slow = (name: string) => () => {
    events.push(name)
    for (const end = performance.now() + 3; performance.now() < end;);
  }
  const other = setInterval(() => events.push('other'), 0)
  await compileInSlices([slow('first'), slow('second')])
  clearInterval(other)
  const order = events.filter((event, index) => event !== events[index - 1])
  expect(order.join(' ')).toMatch(/^first .*other .*second/)
})

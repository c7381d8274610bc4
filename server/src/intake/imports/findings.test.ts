import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { finding, type FindingCode, findingCodes } from './resource.ts'
import { rowStatuses } from './resource.ts'

const guide = await readFile(new URL('../../../../docs/guides/imports.md', import.meta.url), 'utf8')

test('the guide explains exactly the existing finding codes and row states', () => {
  const explained = [...guide.matchAll(/^\| `(\w+)` +\| (.+?) +\|$/gm)].map(([, name, text]) => [name, text] as const)
  const codes = explained.filter(([name = '']) => name in findingCodes)
  expect(Object.fromEntries(codes)).toEqual(findingCodes)
  const states = explained.flatMap(([name = '']) => (/^[A-Z]+$/.test(name) ? [name] : []))
  expect(states).toEqual(rowStatuses)
})

test('a finding has the hint of its code', () => {
  for (const code of Object.keys(findingCodes) as FindingCode[]) {
    expect(finding(code, 'contact.email', 'is odd')).toEqual({
      code,
      path: 'contact.email',
      message: 'is odd',
      hint: findingCodes[code],
    })
  }
})

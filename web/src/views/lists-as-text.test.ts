import { expect, test } from 'vitest'
import { itemsOfText, textOfItems } from './lists-as-text.ts'

test.each([
  [['a', 'b']],
  [['a,b', 'x']],
  [['say "hi"', '"quoted"', '12" disk']],
  [[' edge ', 'two\nlines', ',', 'a, b, c']],
  [['a\\,b', '\\']],
  [[]],
])('%j is the same list after it was edited', (items) => {
  expect(itemsOfText(textOfItems(items))).toEqual(items)
  expect(itemsOfText(`${textOfItems(items)}, c`)).toEqual([...items, 'c'])
})

test.each([
  ['a, b,c ,, ', ['a', 'b', 'c']],
  ['"a,b", c', ['a,b', 'c']],
  ['"a,b', ['"a', 'b']],
  ['"a" b, c', ['"a" b', 'c']],
  ['5" pipe, b', ['5" pipe', 'b']],
  ['', []],
  [' " " ', []],
])('%j is read as %j', (text, items) => expect(itemsOfText(text)).toEqual(items))

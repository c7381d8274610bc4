import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Block, blocksOf } from './markdown-blocks.ts'
import { type Inline, partsOf } from './markdown-inline.ts'
import { markerFor } from './markdown-marks.ts'

/** HTML-like, for readable expectations. */
const showParts = (parts: readonly Inline[]): string =>
  parts
    .map((part) => {
      if (part.type === 'break') return '|'
      if ('text' in part) return part.type === 'code' ? `{${part.text}}` : part.text
      const inner = showParts(part.parts)
      return part.type === 'link' ? `link(${inner}, ${part.href})` : `${part.type}(${inner})`
    })
    .join('')
const shown = (text: string): string => showParts(partsOf(text))

const showBlock = (block: Block): string => {
  if (block.type === 'rule') return 'rule'
  if (block.type === 'quote') return `quote(${block.blocks.map(showBlock).join(' ')})`
  if (block.type !== 'list') return `${block.type}(${block.text})`
  const items = block.items.map((item) => `[${item.map(showBlock).join(' ')}]`).join('')
  return `${block.start === undefined ? 'list' : `list ${block.start}`}(${items})`
}
const blocks = (text: string): string => blocksOf(text).map(showBlock).join(' ')

test('emphasis, code, links and line breaks are parsed', () => {
  expect(shown('a **b** *c* ~~d~~ `e*f*` __g__ _h_')).toBe(
    'a strong(b) emphasis(c) deleted(d) {e*f*} strong(g) emphasis(h)',
  )
  expect(shown('**a *b* c**')).toBe('strong(a emphasis(b) c)')
  expect(shown('one\ntwo')).toBe('one|two')
  expect(shown('[Offer](https://example.com/a_(b)) and https://example.com/c.')).toBe(
    'link(Offer, https://example.com/a_(b)) and link(https://example.com/c, https://example.com/c).',
  )
  expect(shown('![Plan](https://example.com/p.png)')).toBe('link(Plan, https://example.com/p.png)')
})

test('what only looks like Markdown stays text', () => {
  for (const text of [
    '2 * 3 * 4',
    'snake_case_name',
    '5 ** x',
    'a * b',
    '[x]',
    '[x](y)',
    '`',
    '**',
    'a\\b',
    '<b>x</b>',
  ])
    expect(shown(text)).toBe(text)
  expect(shown('\\*a\\*')).toBe('*a*')
})

test('no address can run a script', () => {
  for (const address of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    '//x.example',
    'vbscript:x',
  ])
    expect(shown(`[a](${address})`)).not.toContain('link(')
})

test('headings, lists, quotes, code and rules are parsed', () => {
  expect(
    blocks('# Call\n\nBefore:\n\n- read\n- check\n  - twice\n\n1. a\n2. b\n\n> said\n> so\n\n---\n```\n**x**\n```'),
  ).toBe(
    'heading(Call) paragraph(Before:) list([paragraph(read)][paragraph(check) list([paragraph(twice)])]) ' +
      'list 1([paragraph(a)][paragraph(b)]) quote(paragraph(said\nso)) rule code(**x**)',
  )
  expect(blocks('one\ntwo\n\nthree')).toBe('paragraph(one\ntwo) paragraph(three)')
  expect(blocks('- a\n  more\n\n  later\n- b')).toBe('list([paragraph(a\nmore) paragraph(later)][paragraph(b)])')
})

test('any text is parsed in a short time and loses no word', () => {
  const pieces = fc.constantFrom(
    'word',
    '*',
    '**',
    '_',
    '~~',
    '`',
    '[',
    '](',
    ')',
    '\n',
    '\n\n',
    '- ',
    '  ',
    '> ',
    '```',
    '#',
    '1. ',
    '\\',
    '<',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      const words = (text: string) => text.split('word').length
      const read = blocksOf(parts.join(''))
      const text = JSON.stringify(read.map((block) => ('text' in block ? partsOf(block.text) : block)))
      // The text after an opening fence names a language, and is not rendered.
      if (!/`{3}|~{3}/.test(parts.join(''))) expect(words(text)).toBe(words(parts.join('')))
    }),
  )
  for (const piece of ['*a ', '**a', '[', '`', '> ', '- ', '_a', 'https://', '(', '![a](', '~~']) {
    const text = piece.repeat(100_000 / piece.length)
    const start = performance.now()
    for (const block of blocksOf(text)) if ('text' in block) partsOf(block.text)
    expect([piece, performance.now() - start < 2000]).toEqual([piece, true])
  }
})

/** The visible text of a paragraph, with highlighted words in brackets. */
function marked(source: string, ...words: string[]): string {
  const read = blocksOf(source)
  const spans = words.map((text) => ({ start: source.lastIndexOf(text), text }))
  const mark = markerFor(source, read, spans)
  const show = (parts: readonly Inline[]): string =>
    parts
      .map((part) => {
        if (part.type === 'break') return ' '
        if ('parts' in part) return show(part.parts)
        return mark(part.text)
          .map((piece) => (piece.isMarked ? `[${piece.text}]` : piece.text))
          .join('')
      })
      .join('')
  return read.map((block) => (block.type === 'paragraph' ? show(partsOf(block.text)) : '')).join(' / ')
}

test('words of the source are highlighted in the rendered text', () => {
  expect(marked('Please **call\nme** 😀 today', 'call\nme** 😀 today')).toBe('Please [call] [me][ 😀 today]')
  expect(marked('call me, or *call* me', 'call* me')).toBe('call me, or [call][ me]')
  expect(marked('one two three', 'one two', 'two three')).toBe('[one two three]')
  expect(marked('one\n\ntwo', 'one', 'two')).toBe('[one] / [two]')
  expect(marked('see [this](https://example.com/call)', 'example.com/call')).toBe('see this')
  expect(marked('*** (((', '(((')).toBe('*** (((')
})

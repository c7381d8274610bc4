import type { Draft } from './draft.ts'
import { percentEncode, hostileText } from './hostile.ts'
import type { Random } from './random.ts'
import type { FuzzContext } from './context.ts'

type Change = (draft: Draft, context: FuzzContext, random: Random) => string

/** Adds or replaces a part of the query string. */
export function changeQuery(draft: Draft, context: FuzzContext, random: Random): string {
  const name = random.weighted(weights)
  const piece = changes[name](draft, context, random)
  draft.query.splice(random.below(draft.query.length + 1), random.below(2), ...piece.split('&').filter(Boolean))
  return name
}

const weights = {
  'a hostile value': 24,
  'a value of another type': 12,
  'another field or operator': 14,
  'a duplicate parameter': 6,
  'an unknown parameter': 8,
  'a cursor': 14,
  'a limit': 6,
  'an order': 8,
  'a selection': 8,
  'a search': 8,
  'a foreign id': 8,
  'malformed parts': 6,
  'many filters': 2,
  'a long value': 1,
}

const operators =
  'equals not contains startsWith endsWith in notIn gt gte lt lte has hasEvery hasSome isEmpty like EQUALS or'.split(
    ' ',
  )

const nameOf = (draft: Draft, random: Random): string =>
  draft.operation.query.length > 0 ? random.pick(draft.operation.query).name : 'limit'

const fieldOf = (draft: Draft, random: Random): string => nameOf(draft, random).replace(/^filter\.|\.\w+$/g, '')

const pair = (name: string, value: string): string => `${percentEncode(name)}=${percentEncode(value)}`

const changes: Record<keyof typeof weights, Change> = {
  'a hostile value': (draft, _context, random) => pair(nameOf(draft, random), hostileText(random)),
  'a value of another type': (draft, _context, random) =>
    pair(
      nameOf(draft, random),
      random.pick(['abc', '1', 'true', 'null', '2026-11-21', '', ',', 'a,b', '1,2', '1.5e3', '-1']),
    ),
  'another field or operator': (draft, _context, random) => {
    const field = random.chance(60) ? fieldOf(draft, random) : hostileText(random)
    const key = random.chance(25) ? `.${hostileText(random)}` : ''
    return pair(
      `filter.${field}${key}.${random.pick(operators)}`,
      random.pick(['a', '1', 'null', 'true', '2026-11-21']),
    )
  },
  'a duplicate parameter': (draft, _context, random) => {
    const name = nameOf(draft, random)
    return `${pair(name, '1')}&${pair(random.chance(80) ? name : name.toUpperCase(), hostileText(random))}`
  },
  'an unknown parameter': (_draft, _context, random) =>
    pair(
      random.pick([
        'page',
        'offset',
        'Limit',
        'filter',
        'filter.',
        'select[0]',
        'sort[]',
        '__proto__',
        hostileText(random),
      ]),
      '1',
    ),
  'a cursor': (draft, context, random) =>
    pair(random.pick(['startingAfter', 'endingBefore']), drawCursor(draft, context, random)),
  'a limit': (_draft, _context, random) =>
    pair(
      'limit',
      random.pick(['0', '1', '100', '101', '-1', '1e1', '+5', '05', '2.0', ' 3', '9'.repeat(20), '0x5', '', '１']),
    ),
  'an order': (draft, _context, random) =>
    random.chance(70)
      ? pair('orderBy', random.chance(60) ? fieldOf(draft, random) : hostileText(random))
      : pair('sort', random.pick(['asc', 'ASC', 'desc,asc', '', '1', hostileText(random)])),
  'a selection': (draft, _context, random) => {
    const name = random.pick(['select[]', 'select', 'select%5B%5D'])
    const field = random.chance(60) ? fieldOf(draft, random) : hostileText(random)
    return `${name}=${percentEncode(field)}`
  },
  'a search': (_draft, _context, random) => pair('query', hostileText(random)),
  'a foreign id': (draft, { theirs, ours }, random) => {
    const ids = [...theirs.lexicon.ids.values(), ...ours.lexicon.ids.values()].flat()
    return pair(`filter.${fieldOf(draft, random)}.${random.pick(['equals', 'in', 'not'])}`, random.pick(ids))
  },
  'malformed parts': (_draft, _context, random) =>
    random.pick([
      ...[
        '%zz',
        '%',
        '%00=1',
        'a=%ff',
        '=',
        '=1',
        'a=b=c',
        '%ED%A0%80=1',
        '?',
        '[]=1',
        'limit',
        'limit=1;sort=asc',
        '+',
      ],
      ...[
        'limit=%31',
        'l%69mit=1',
        'limit=1%00',
        'query=%F0%9F%92',
        'limit=1?limit=2',
        '#',
        'query=\u00e4',
        'query=a b',
      ],
    ]),
  'many filters': (draft, _context, random) =>
    Array.from({ length: random.pick([25, 26, 100, 300]) }, (_, index) =>
      pair(nameOf(draft, random), String(index)),
    ).join('&'),
  'a long value': (draft, _context, random) =>
    pair(nameOf(draft, random), 'x'.repeat(random.pick([7000, 8100, 8192, 9000, 20_000, 60_000]))),
}

/** A cursor of another list, another organization or a deleted record, or a forged, truncated or invalid one. */
function drawCursor({ operation }: Draft, { ours, theirs }: FuzzContext, random: Random): string {
  const cursors = [...ours.cursors.values()]
  const own = ours.cursors.get(operation.path) ?? 'cur_'
  const flipped = (text: string): string => {
    const at = 4 + random.below(Math.max(1, text.length - 4))
    return `${text.slice(0, at)}${random.pick(['A', 'z', '0', '_', '-', '.', '%', '\u00e4'])}${text.slice(at + 1)}`
  }
  const deleted = ours.refs
    .filter(({ lifetime: use }) => use === 'deleted')
    .map(({ idParameter: name, params }) => params[name] ?? '')
  return random.pick([
    own,
    flipped(own),
    flipped(own),
    own.slice(0, random.below(own.length)),
    own + own,
    random.pick(cursors),
    random.pick([...theirs.cursors.values()]),
    random.pick([...theirs.lexicon.ids.values()].flat()),
    random.pick([...ours.lexicon.ids.values()].flat()),
    random.pick([...deleted, 'con_']),
    `cur_${'A'.repeat(random.pick([1, 39, 40, 100, 2900]))}`,
    hostileText(random),
  ])
}

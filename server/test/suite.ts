/**
 * Whether this is `npm test`, which tries one case of each kind where the cases are a product of routes, fields and
 * values. `npm run verify` runs the same files (vitest.config.ts), and like a file by its path it tries all of them.
 */
export const isShort = process.env.SUITE === 'test'

/** All cases, or in `npm test` one of each kind: for each `turn`, such as the number of a route, another one. */
export function casesToTry<Case>(cases: readonly Case[], kindOf: (one: Case) => string, turn = 0): Case[] {
  if (!isShort) return [...cases]
  const kinds = new Map<string, Case[]>()
  for (const one of cases) kinds.set(kindOf(one), [...(kinds.get(kindOf(one)) ?? []), one])
  return [...kinds.values()].flatMap((ofKind) => ofKind.slice(turn % ofKind.length).slice(0, 1))
}

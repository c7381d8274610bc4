import { changeBody } from './change-body.ts'
import { changeHead } from './change-head.ts'
import { changeIds, changeMethod, changePath } from './change-path.ts'
import { changeQuery } from './change-query.ts'
import type { Draft } from './draft.ts'
import type { Random } from './random.ts'
import type { FuzzContext } from './context.ts'

/** Mutates a request in one way, and records it in `changes`. */
export function change(draft: Draft, context: FuzzContext, random: Random): void {
  const kind = random.weighted({
    body: draft.operation.body ? 50 : 4,
    query: draft.operation.query.length > 0 ? 40 : 5,
    id: draft.operation.ids.length > 0 ? 14 : 0,
    path: 6,
    head: 25,
    method: 4,
  })
  const what = {
    body: () => changeBody(draft, context, random),
    query: () => changeQuery(draft, context, random),
    id: () => changeIds(draft, context, random),
    path: () => changePath(draft, context, random),
    head: () => changeHead(draft, context, random),
    method: () => changeMethod(draft, random),
  }[kind]()
  draft.changes.push(`${kind}: ${what}`)
}

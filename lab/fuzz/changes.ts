import { changeBody } from './change-body.ts'
import { changeHead } from './change-head.ts'
import { changeIds, changeMethod, changePath } from './change-path.ts'
import { changeQuery } from './change-query.ts'
import type { Draft } from './draft.ts'
import type { World } from './drawing.ts'
import type { Random } from './random.ts'

/** Changes a request in one way that the operation does not ask for, and notes it. */
export function change(draft: Draft, world: World, random: Random): void {
  const kind = random.weighted({
    body: draft.operation.body ? 50 : 4,
    query: draft.operation.query.length > 0 ? 40 : 5,
    id: draft.operation.ids.length > 0 ? 14 : 0,
    path: 6,
    head: 25,
    method: 4,
  })
  const what = {
    body: () => changeBody(draft, world, random),
    query: () => changeQuery(draft, world, random),
    id: () => changeIds(draft, world, random),
    path: () => changePath(draft, world, random),
    head: () => changeHead(draft, world, random),
    method: () => changeMethod(draft, random),
  }[kind]()
  draft.changes.push(`${kind}: ${what}`)
}

import type { Transaction } from '../../platform/database/database.ts'
import { stores } from './fill.ts'
import { contentOf, type Counts, type Example, findLinks, kinds, takeExamples } from './store.ts'

/**
 * Deletes the example data, as a person deletes records: they can be restored. A record is kept that somebody has
 * changed, and one to which a record refers that is kept or no example.
 */
export async function remove(transaction: Transaction): Promise<{ deleted: Counts; kept: Counts }> {
  const examples = await takeExamples(transaction)
  const kept = await findKept(transaction, examples)
  for (const kind of kinds) {
    const ids = examples.filter((example) => example.kind === kind && !kept.has(example.id)).map(({ id }) => id)
    if (ids.length === 0) continue
    await stores[kind].write(
      transaction,
      ids.map((id) => ({ kind: 'update', id, values: {}, lifecycle: 'delete' })),
    )
  }
  const count = (isKept: boolean): Counts => {
    const of = (kind: Example['kind']) =>
      examples.filter((example) => example.kind === kind && kept.has(example.id) === isKept).length
    return {
      tasks: of('tasks'),
      notes: of('notes'),
      deals: of('deals'),
      contacts: of('contacts'),
      companies: of('companies'),
    }
  }
  return { deleted: count(false), kept: count(true) }
}

async function findKept(transaction: Transaction, examples: readonly Example[]): Promise<ReadonlySet<string>> {
  const kept = new Set<string>()
  for (const kind of kinds) {
    const ofKind = examples.filter((example) => example.kind === kind)
    if (ofKind.length === 0) continue
    const { resource } = stores[kind]
    // Changes nothing, but locks and reads them.
    const current = await stores[kind].write(
      transaction,
      ofKind.map(({ id }) => ({ kind: 'update', id, values: {} })),
    )
    const contents = new Map(ofKind.map(({ id, content }) => [id, content]))
    for (const { id, after } of current) if (contents.get(id) !== contentOf(resource, after)) kept.add(id)
  }
  const ids = new Set(examples.map(({ id }) => id))
  const links = await findLinks(transaction, [...ids])
  // What is kept keeps what it refers to: a task its contact, and that its company.
  for (let before = -1; before < kept.size;) {
    before = kept.size
    for (const { from, to } of links) if (!ids.has(from) || kept.has(from)) kept.add(to)
  }
  return kept
}

import pg from 'pg'
import { expect } from 'vitest'

/** An organization predicate of a statement; those that look up the credential itself are found by a secret instead. */
const predicate = /(?<!credential_\w+\.)\borganization_id = (\$\d+::uuid|\(select \$\d+::uuid\))/g

/** A statement without one of its organization predicates, or without any. */
interface Fault {
  text: string
  occurrence: number | 'all'
}

/** Something that is asked or done, and what is to be seen of it: the same each time, unless a predicate is missing. */
export interface Probe {
  description: string
  observe: () => Promise<string>
}

/** Every statement of this process on its way to the database: noted, and changed when a fault is planted in it. */
export interface Statements {
  /** Those since the last time that this was asked. */
  sent(): string[]
  /**
   * Plants each fault in turn in what the probes send. No transaction is kept meanwhile, so that each probe meets the same
   * however often it looks; before one is undone, it answers `inside`. Gives the places of the faults that no probe saw, and of the others.
   */
  plant(probes: readonly Probe[], beforeRollback?: string): Promise<{ missed: string[]; detected: string[] }>
  /** What transactions answered before they were undone, since the last time that this was asked. */
  transactionResults(): string
  restore(): void
}

export function watchStatements(): Statements {
  const original = pg.Client.prototype.query
  const sent: string[] = []
  const transactionResults: string[] = []
  let planted: Fault | undefined
  let probing: { beforeRollback: string | undefined } | undefined
  /** Connections within a transaction. */
  const inTransaction = new WeakSet<pg.Client>()
  const takeSent = () => sent.splice(0)

  function query(this: pg.Client, given: string | pg.QueryConfig, ...rest: unknown[]): unknown {
    const forward = (statement: unknown) => Reflect.apply(original, this, [statement, ...rest])
    const text = typeof given === 'string' ? given : given.text
    sent.push(text)
    if (text === 'commit' || text === 'rollback') inTransaction.delete(this)
    if (probing && text === 'commit') {
      const inspection =
        probing.beforeRollback && (Reflect.apply(original, this, [probing.beforeRollback]) as Promise<pg.QueryResult>)
      if (!inspection) return asCommitted(forward('rollback'))
      return inspection
        .then(({ rows }) => transactionResults.push(JSON.stringify(rows)))
        .then(() => asCommitted(forward('rollback')))
    }
    // A prepared statement's name stands for the whole text.
    const isPlanted = typeof given !== 'string' && planted?.text === text
    const faulty = isPlanted && planted ? { text: withFault(planted), values: given.values } : given
    if (text === 'begin') inTransaction.add(this)
    if (probing && !inTransaction.has(this) && /\binsert into\b/.test(text))
      return inUndoneTransaction(this, probing.beforeRollback, forward, faulty)
    return forward(faulty)
  }
  /** A statement that is its own transaction, within one that is undone. */
  async function inUndoneTransaction(
    client: pg.Client,
    beforeRollback: string | undefined,
    forward: (statement: unknown) => unknown,
    statement: unknown,
  ) {
    const send = (text: string) => Reflect.apply(original, client, [text]) as Promise<pg.QueryResult>
    await send('begin')
    try {
      const result = (await forward(statement)) as pg.QueryResult
      if (beforeRollback) transactionResults.push(JSON.stringify((await send(beforeRollback)).rows))
      return result
    } finally {
      await send('rollback')
    }
  }
  /** Told as the commit that it stands for. */
  const asCommitted = async (rolledBack: unknown) => ({ ...((await rolledBack) as pg.QueryResult), command: 'COMMIT' })
  pg.Client.prototype.query = query as typeof original

  return {
    sent: takeSent,
    transactionResults: () => transactionResults.splice(0).join(' '),
    async plant(probes, beforeRollback) {
      probing = { beforeRollback }
      /** Whether it was noticed, by the place of each fault. */
      const noticedByPlace = new Map<string, boolean>()
      try {
        for (const { description, observe } of probes) {
          takeSent()
          const baseline = await observe()
          const texts = takeSent()
          expect(await observe(), `${description} is not the same each time`).toBe(baseline)
          for (const fault of faultsIn(texts)) {
            const key = `${description} ${placeOf(fault)}`
            if (noticedByPlace.get(key)) continue
            planted = fault
            takeSent()
            noticedByPlace.set(key, (await observe()) !== baseline)
            expect(takeSent(), description).toContain(fault.text)
            planted = undefined
          }
        }
      } finally {
        planted = probing = undefined
      }
      const placesWhere = (noticed: boolean) =>
        [...noticedByPlace.keys()].filter((place) => noticedByPlace.get(place) === noticed)
      return { missed: placesWhere(false), detected: placesWhere(true) }
    },
    restore: () => void (pg.Client.prototype.query = original),
  }
}

function withFault({ text, occurrence }: Fault): string {
  let detected = 0
  return text.replace(predicate, (whole, parameter: string) =>
    occurrence === 'all' || detected++ === occurrence
      ? `organization_id is not null and ${parameter} is not null`
      : whole,
  )
}

const faultsIn = (texts: readonly string[]): Fault[] =>
  [...new Set(texts)].flatMap((text) => {
    const single = [...text.matchAll(predicate)].map((_, occurrence) => ({ text, occurrence }))
    return single.length > 1 && !/returning|for update/.test(text)
      ? [...single, { text, occurrence: 'all' as const }]
      : single
  })

/** Where the predicate stands: the text before it. Parameters are numbered anew in each shape of a statement. */
function placeOf({ text, occurrence }: Fault): string {
  if (occurrence === 'all') return `all of ${text.slice(0, 60)}`
  const at = [...text.matchAll(predicate)][occurrence]?.index ?? 0
  return text
    .slice(Math.max(0, at - 220), at)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\$\d+/g, '$')
}

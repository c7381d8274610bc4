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
  told: string
  look: () => Promise<string>
}

/** Every statement of this process on its way to the database: noted, and changed when a fault is planted in it. */
export interface Statements {
  /** Those since the last time that this was asked. */
  sent(): string[]
  /**
   * Plants each fault in turn in what the probes send. No transaction is kept meanwhile, so that each probe meets the same
   * however often it looks; before one is undone, it answers `inside`. Gives the places of the faults that no probe saw, and of the others.
   */
  plant(probes: readonly Probe[], inside?: string): Promise<{ missed: string[]; seen: string[] }>
  /** What transactions answered before they were undone, since the last time that this was asked. */
  insights(): string
  restore(): void
}

export function watchStatements(): Statements {
  const original = pg.Client.prototype.query
  const sent: string[] = []
  const insights: string[] = []
  let planted: Fault | undefined
  let looking: { inside: string | undefined } | undefined
  /** Connections within a transaction. */
  const begun = new WeakSet<pg.Client>()
  const take = () => sent.splice(0)

  function query(this: pg.Client, given: string | pg.QueryConfig, ...rest: unknown[]): unknown {
    const pass = (statement: unknown) => Reflect.apply(original, this, [statement, ...rest])
    const text = typeof given === 'string' ? given : given.text
    sent.push(text)
    if (text === 'commit' || text === 'rollback') begun.delete(this)
    if (looking && text === 'commit') {
      const asked = looking.inside && (Reflect.apply(original, this, [looking.inside]) as Promise<pg.QueryResult>)
      if (!asked) return takenBack(pass('rollback'))
      return asked.then(({ rows }) => insights.push(JSON.stringify(rows))).then(() => takenBack(pass('rollback')))
    }
    // A prepared statement's name stands for the whole text.
    const isPlanted = typeof given !== 'string' && planted?.text === text
    const faulty = isPlanted && planted ? { text: withFault(planted), values: given.values } : given
    if (text === 'begin') begun.add(this)
    if (looking && !begun.has(this) && /\binsert into\b/.test(text)) return undone(this, looking.inside, pass, faulty)
    return pass(faulty)
  }
  /** A statement that is its own transaction, within one that is undone. */
  async function undone(
    client: pg.Client,
    inside: string | undefined,
    pass: (statement: unknown) => unknown,
    statement: unknown,
  ) {
    const send = (text: string) => Reflect.apply(original, client, [text]) as Promise<pg.QueryResult>
    await send('begin')
    try {
      const result = (await pass(statement)) as pg.QueryResult
      if (inside) insights.push(JSON.stringify((await send(inside)).rows))
      return result
    } finally {
      await send('rollback')
    }
  }
  /** Told as the commit that it stands for. */
  const takenBack = async (rolledBack: unknown) => ({ ...((await rolledBack) as pg.QueryResult), command: 'COMMIT' })
  pg.Client.prototype.query = query as typeof original

  return {
    sent: take,
    insights: () => insights.splice(0).join(' '),
    async plant(probes, inside) {
      looking = { inside }
      /** Whether it was noticed, by the place of each fault. */
      const places = new Map<string, boolean>()
      try {
        for (const { told, look } of probes) {
          take()
          const usual = await look()
          const texts = take()
          expect(await look(), `${told} is not the same each time`).toBe(usual)
          for (const fault of faultsIn(texts)) {
            const key = `${told} ${placeOf(fault)}`
            if (places.get(key)) continue
            planted = fault
            take()
            places.set(key, (await look()) !== usual)
            expect(take(), told).toContain(fault.text)
            planted = undefined
          }
        }
      } finally {
        planted = looking = undefined
      }
      const those = (noticed: boolean) => [...places.keys()].filter((place) => places.get(place) === noticed)
      return { missed: those(false), seen: those(true) }
    },
    restore: () => void (pg.Client.prototype.query = original),
  }
}

function withFault({ text, occurrence }: Fault): string {
  let seen = 0
  return text.replace(predicate, (whole, parameter: string) =>
    occurrence === 'all' || seen++ === occurrence ? `organization_id is not null and ${parameter} is not null` : whole,
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

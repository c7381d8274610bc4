import { randomBytes, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Database } from '../../platform/database/database.ts'
import type { Trigger } from '../../platform/http/push.ts'
import { findOpenImport, type OpenImport } from './intake-store.ts'
import { triggerHash } from './trigger.ts'

const rememberedImports = 10_000

/**
 * Which secret opens which import. What was read is remembered in this process and good only to let a push in: whoever
 * keeps it asks the database again, and nobody is refused before the database was asked.
 */
export class OpenImports {
  readonly #known = new LRUCache<string, OpenImport>({ max: rememberedImports })
  readonly #read: (importId: string) => Promise<OpenImport | undefined>

  constructor(database: Pick<Database, 'spanning'>) {
    this.#read = oneAtATime((importId) => findOpenImport(database, importId))
  }

  async find(importId: string, secret: string): Promise<Trigger | undefined> {
    const hash = triggerHash(secret)
    const known = this.#known.get(importId)
    const open = known && holds(known, hash) ? known : await this.#reread(importId)
    return holds(open, hash) && open ? { organizationId: open.organizationId, importId, hash } : undefined
  }

  async isOpen({ importId, hash }: Trigger): Promise<boolean> {
    return holds(await this.#reread(importId), hash)
  }

  forget({ importId }: Trigger): void {
    this.#known.delete(importId)
  }

  async #reread(importId: string): Promise<OpenImport | undefined> {
    const open = await this.#read(importId)
    if (open) this.#known.set(importId, open)
    else this.#known.delete(importId)
    return open
  }
}

/** No secret has this hash; an import that is not there takes as long to refuse one as one that is. */
const decoy = randomBytes(32)

/** Every hash is compared, each in constant time. */
const holds = (open: OpenImport | undefined, hash: Buffer): boolean =>
  (open?.hashes ?? [decoy]).filter((held) => timingSafeEqual(held, hash)).length > 0

interface Run<Result> {
  ended: Promise<unknown>
  next: Promise<Result> | undefined
}

/**
 * Of the reads for one key one runs at a time. Who asks meanwhile shares the next, which begins after they asked: they
 * never get what was true before.
 */
function oneAtATime<Result>(read: (key: string) => Promise<Result>): (key: string) => Promise<Result> {
  const running = new Map<string, Run<Result>>()
  const start = (key: string): Promise<Result> => {
    const result = read(key)
    const end = () => {
      // When one is next, it takes this one's place.
      if (!run.next) running.delete(key)
    }
    const run: Run<Result> = { ended: result.then(end, end), next: undefined }
    running.set(key, run)
    return result
  }
  return (key) => {
    const run = running.get(key)
    if (!run) return start(key)
    return (run.next ??= run.ended.then(() => start(key)))
  }
}

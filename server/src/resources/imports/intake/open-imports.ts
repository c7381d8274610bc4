import { randomBytes, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { sha256 } from '../../../platform/secret/encryption.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Trigger } from './push.ts'
import { findOpenImports, type OpenImport } from './intake-store.ts'
import { Batches, type BatchLimits } from './push-batches.ts'

const maxCachedImports = 10_000

/** However many strangers knock, one statement at a time asks for them all, and pushes keep their connections. */
const readLimits: BatchLimits = {
  items: 500,
  bytes: 0,
  maxConcurrent: 1,
  waitingItems: 5000,
  waitingBytes: 0,
  waitMilliseconds: 2000,
}

/**
 * Which secret opens which import. What was read is remembered in this process and good only to let a push in: whoever
 * keeps it asks the database again, and nobody is refused before the database was asked.
 */
export class OpenImports {
  readonly #known = new LRUCache<string, OpenImport>({ max: maxCachedImports })
  readonly #reads: Batches<string, OpenImport | undefined>

  constructor(database: Pick<Database, 'crossTenantQuery'>) {
    this.#reads = new Batches(readLimits, async (importIds) => {
      const found = await findOpenImports(database, importIds)
      return importIds.map((importId) => found.get(importId))
    })
  }

  async find(importId: string, secret: string): Promise<Trigger | undefined> {
    const hash = sha256(secret)
    const known = this.#known.get(importId)
    const open = known && hasHash(known, hash) ? known : await this.#reread(importId)
    return hasHash(open, hash) && open ? { organizationId: open.organizationId, importId, hash } : undefined
  }

  async isOpen({ importId, hash }: Trigger): Promise<boolean> {
    return hasHash(await this.#reread(importId), hash)
  }

  forget({ importId }: Trigger): void {
    this.#known.delete(importId)
  }

  async #reread(importId: string): Promise<OpenImport | undefined> {
    const open = await this.#reads.add(importId, 0)
    if (open) this.#known.set(importId, open)
    else this.#known.delete(importId)
    return open
  }
}

/** No secret has this hash; an import that is not there takes as long to refuse one as one that is. */
const decoy = randomBytes(32)

/** Every hash is compared, each in constant time. */
const hasHash = (open: OpenImport | undefined, hash: Buffer): boolean =>
  (open?.hashes ?? [decoy]).filter((storedHash) => timingSafeEqual(storedHash, hash)).length > 0

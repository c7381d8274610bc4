import { randomBytes, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { sha256 } from '../../platform/secret/encryption.ts'
import type { Trigger } from './push.ts'
import { findOpenImports, type IntakeDatabase, type OpenImport } from './intake-store.ts'
import { Batches, lookupLimits } from './push-batches.ts'

const maxCachedImports = 10_000

/**
 * Finds the import that a secret belongs to. Cached entries only let a push in: the insert checks the database again,
 * and no push is rejected before the database was checked.
 */
export class OpenImports {
  readonly #cache = new LRUCache<string, OpenImport>({ max: maxCachedImports })
  readonly #reads: Batches<string, OpenImport | undefined>

  constructor(database: IntakeDatabase) {
    this.#reads = new Batches<string, OpenImport | undefined>(lookupLimits, async (importIds) => {
      const found = await findOpenImports(database, importIds)
      return importIds.map((importId) => found.get(importId))
    })
  }

  async find(importId: string, secret: string): Promise<Trigger | undefined> {
    const hash = sha256(secret)
    const cached = this.#cache.get(importId)
    const open = cached && hasHash(cached, hash) ? cached : await this.#reload(importId)
    return hasHash(open, hash) && open ? { organizationId: open.organizationId, importId, hash } : undefined
  }

  async isOpen({ importId, hash }: Trigger): Promise<boolean> {
    return hasHash(await this.#reload(importId), hash)
  }

  forget({ importId }: Trigger): void {
    this.#cache.delete(importId)
  }

  async #reload(importId: string): Promise<OpenImport | undefined> {
    const open = await this.#reads.add(importId, 0)
    if (open) this.#cache.set(importId, open)
    else this.#cache.delete(importId)
    return open
  }
}

/** No secret has this hash. It makes rejecting an unknown import take as long as rejecting a wrong secret. */
const decoy = randomBytes(32)

/** Compares all hashes, each in constant time. */
const hasHash = (open: OpenImport | undefined, hash: Buffer): boolean =>
  (open?.hashes ?? [decoy]).filter((storedHash) => timingSafeEqual(storedHash, hash)).length > 0

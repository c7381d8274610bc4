import { LRUCache } from 'lru-cache'

type Options<Key, Value> = Pick<LRUCache.Options<Key & {}, Value & {}, unknown>, 'ttl' | 'dispose'>

/**
 * The `max` entries that were used last. It takes memory for those that it has: with `max`, the package would take it for
 * all of them in advance, 5 MB for the caches of a service.
 */
export const boundedCache = <Key extends {}, Value extends {}>(
  max: number,
  options: Options<Key, Value> = {},
): LRUCache<Key, Value> => new LRUCache<Key, Value>({ ...options, maxSize: max, sizeCalculation: () => 1 })

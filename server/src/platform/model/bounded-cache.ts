import { LRUCache } from 'lru-cache'

type Options<Key, Value> = Pick<LRUCache.Options<Key & {}, Value & {}, unknown>, 'ttl' | 'dispose'>

/** The entries that were used last. With `max`, the package would take the memory for all of them in advance. */
export const boundedCache = <Key extends {}, Value extends {}>(
  max: number,
  options: Options<Key, Value> = {},
): LRUCache<Key, Value> => new LRUCache<Key, Value>({ ...options, maxSize: max, sizeCalculation: () => 1 })

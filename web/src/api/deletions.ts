import { ApiError } from './error.ts'

/** Milliseconds for which a deletion is remembered: until then, what shows the record has been left. */
const memory = 10_000
/** Milliseconds for which a read waits for a deletion without an answer. */
const timeout = 5000

/** By path of a record: whether this page has deleted it, once the service has answered. */
const deletions = new Map<string, Promise<boolean>>()

/** Reads without a response, with their paths. */
const reads = new Map<AbortController, string>()

export const noSuchRecord = { code: 'not_found', message: 'Not found', description: 'There is no record with this id.' }

/** The record that a request deletes, including all below it, or restores. The account's own routes differ. */
const changePattern = /^(?!\/v5\/me\/)(.+?)(\/erase|\/restore)?$/

/** Notes that a change deletes or restores a record. */
export function followDeletion(method: string, path: string, answer: Promise<unknown>): void {
  const [, record, action] = changePattern.exec(path) ?? []
  if (record === undefined) return
  if (action === '/restore')
    return void answer.then(
      () => deletions.delete(record),
      () => undefined,
    )
  if (method !== 'DELETE' && action !== '/erase') return
  const isDeleted = answer.then(
    () => true,
    () => false,
  )
  deletions.set(record, isDeleted)
  for (const [read, path] of reads) if (isWithin(path, record)) read.abort()
  const forget = () => deletions.get(record) === isDeleted && deletions.delete(record)
  void isDeleted.then((is) => setTimeout(forget, is ? memory : 0))
}

/** Somebody has restored the record. */
export function forgetDeletion(id: string): void {
  for (const record of deletions.keys()) if (record.endsWith(`/${id}`)) deletions.delete(record)
}

/**
 * Reads a path, unless it is of a record that this page has just deleted and that is still shown somewhere: browsers
 * report each refused request. What is being read while the record is deleted is read again if the deletion is refused.
 */
export async function readUnlessDeleted<T>(
  path: string,
  signal: AbortSignal | undefined,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (;;) {
    for (const [record, isDeleted] of deletions)
      if (isWithin(path, record) && (await soon(isDeleted, signal))) throw new ApiError(404, noSuchRecord, undefined)
    const ending = new AbortController()
    const end = () => ending.abort(signal?.reason)
    if (signal?.aborted === true) end()
    signal?.addEventListener('abort', end)
    reads.set(ending, path)
    try {
      return await read(ending.signal)
    } catch (error) {
      if (!ending.signal.aborted || signal?.aborted === true) throw error
    } finally {
      reads.delete(ending)
      signal?.removeEventListener('abort', end)
    }
  }
}

/** False if there is no answer soon, or the reader has left. */
const soon = (isDeleted: Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeout)
    if (signal?.aborted === true) resolve(false)
    signal?.addEventListener('abort', () => resolve(false))
    void isDeleted.then((is) => {
      clearTimeout(timer)
      resolve(is)
    })
  })

const isWithin = (path: string, record: string): boolean => path === record || path.startsWith(`${record}/`)

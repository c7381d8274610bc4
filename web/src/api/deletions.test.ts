import { expect, onTestFinished, test, vi } from 'vitest'
import { ApiError } from './error.ts'
import { followDeletion, forgetDeletion, readUnlessDeleted } from './deletions.ts'

/** A path of a record that no other test uses. */
let number = 0
const newPath = () => `/v5/contacts/con_${++number}`

/** An answer that arrives when the test says so. */
function held() {
  let [resolve, reject]: [() => void, (error: Error) => void] = [() => undefined, () => undefined]
  const promise = new Promise<void>((done, refused) => ([resolve, reject] = [done, refused]))
  return { promise, resolve, reject }
}

const read = (path: string, signal?: AbortSignal) => readUnlessDeleted(path, signal, () => Promise.resolve('read'))
const refusal = (status: number) => new ApiError(status, undefined, undefined)

test('a record and what is below it are not read while this page deletes it, nor afterwards', async () => {
  const path = newPath()
  const { promise, resolve } = held()
  followDeletion('DELETE', path, promise)
  let isRead = false
  const reading = readUnlessDeleted(`${path}/timeline`, undefined, () => Promise.resolve((isRead = true)))
  expect(await read(`${path}0`)).toBe('read')
  expect(isRead).toBe(false)
  resolve()
  await expect(reading).rejects.toMatchObject({ status: 404 })
  await expect(read(path)).rejects.toMatchObject({ status: 404 })
  expect(isRead).toBe(false)
})

test('a refused deletion changes nothing for those that have waited', async () => {
  const path = newPath()
  const { promise, reject } = held()
  followDeletion('POST', `${path}/erase`, promise)
  const reading = read(path)
  reject(refusal(403))
  expect(await reading).toBe('read')
  expect(await read(path)).toBe('read')
})

test('what was being read before ends, and is read again if the deletion is refused', async () => {
  for (const isRefused of [false, true]) {
    const path = newPath()
    const { promise, resolve, reject } = held()
    let times = 0
    const reading = readUnlessDeleted(path, undefined, (signal) => {
      if (++times > 1) return Promise.resolve('read again')
      return new Promise((_, end) => signal.addEventListener('abort', () => end(new Error('The request ended.'))))
    })
    followDeletion('DELETE', path, promise)
    if (isRefused) reject(refusal(409))
    else resolve()
    if (isRefused) expect(await reading).toBe('read again')
    else await expect(reading).rejects.toMatchObject({ status: 404 })
    expect(times).toBe(isRefused ? 2 : 1)
  }
})

test('a restored record is read, and other changes and the account delete no record', async () => {
  const path = newPath()
  followDeletion('DELETE', path, Promise.resolve())
  await expect(read(path)).rejects.toMatchObject({ status: 404 })
  const restored = Promise.resolve()
  followDeletion('POST', `${path}/restore`, restored)
  await restored
  expect(await read(path)).toBe('read')
  followDeletion('PATCH', path, Promise.resolve())
  followDeletion('DELETE', '/v5/me/organizations/org_1', Promise.resolve())
  expect([await read(path), await read('/v5/me/organizations/org_1')]).toEqual(['read', 'read'])
})

test('a record that somebody else restores is read at once', async () => {
  const path = newPath()
  followDeletion('DELETE', path, Promise.resolve())
  await expect(read(`${path}/tasks`)).rejects.toMatchObject({ status: 404 })
  forgetDeletion(path.split('/').at(-1) ?? '')
  expect(await read(`${path}/tasks`)).toBe('read')
})

test('a read does not wait long for a deletion without an answer, nor after it has ended itself', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const path = newPath()
  followDeletion('DELETE', path, held().promise)
  const reading = read(path)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await reading).toBe('read')
  const ending = new AbortController()
  const ended = readUnlessDeleted(path, ending.signal, (signal) => Promise.resolve(signal.aborted))
  ending.abort()
  expect(await ended).toBe(true)
})

test('the end of the whole read is that of the request', async () => {
  const whole = new AbortController()
  const reading = readUnlessDeleted(
    newPath(),
    whole.signal,
    (signal) => new Promise((_, end) => signal.addEventListener('abort', () => end(signal.reason as Error))),
  )
  whole.abort(new Error('The page has left.'))
  await expect(reading).rejects.toThrow('The page has left.')
})

import { useRef } from 'react'
import { type Answer, send } from './client.ts'

/**
 * Sends POSTs that take effect once: if the response was lost and the person sends the same values again, the key stays
 * the same. Different values get a new key, because the service refuses a key with a different body.
 */
export function usePostOnce(): <T>(path: string, body: object) => Promise<Answer<T>> {
  const unanswered = useRef<{ request: string; key: string }>(undefined)
  return async (path, body) => {
    const request = JSON.stringify([path, body])
    if (unanswered.current?.request !== request) unanswered.current = { request, key: crypto.randomUUID() }
    const answer = await send<never>('POST', path, { body, idempotencyKey: unanswered.current.key })
    unanswered.current = undefined
    return answer
  }
}

import { useSyncExternalStore } from 'react'
import { ApiError } from './error.ts'

/** Why requests wait: the browser has no network, nothing answers, or the service (or a proxy) asks to wait. */
export type Trouble = 'offline' | 'unreachable' | 'busy'

/** There was no response. */
export class Unreachable extends Error {}

const busyStatuses: readonly number[] = [429, 502, 503, 504]

/** Milliseconds before a problem is shown; most are over by then. */
const grace = 700
const firstPause = 500
const maxPause = 15_000
const maxRetryAfter = 120_000
/** Milliseconds after which a write fails; the person's input is preserved. */
const writeTimeout = 60_000

const waiting = new Map<object, Trouble>()
const listeners = new Set<() => void>()
const recoveries = new Set<() => void>()
/** The problem that pages show. */
let shown: Trouble | undefined
let timer: ReturnType<typeof setTimeout> | undefined

const current = (): Trouble | undefined => {
  const troubles = [...waiting.values()]
  return (['offline', 'unreachable', 'busy'] as const).find((one) => troubles.includes(one))
}

function changed(): void {
  const next = current()
  for (const listener of listeners) listener()
  clearTimeout(timer)
  if (next === undefined || shown !== undefined || next === 'offline') show(next)
  else timer = setTimeout(() => show(current()), grace)
}

function show(next: Trouble | undefined): void {
  const before = shown
  shown = next
  for (const listener of listeners) listener()
  if (before !== undefined && next === undefined) for (const recover of recoveries) recover()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Undefined while the service answers. */
export const useTrouble = (): Trouble | undefined => useSyncExternalStore(subscribe, () => shown)

/** Called when the service answers again. */
export function whenRecovered(recover: () => void): void {
  recoveries.add(recover)
}

/** Waits for work, but no longer than until requests begin to wait; the page then shows what it has. */
export function unlessTroubled(work: Promise<unknown>): Promise<unknown> {
  const trouble = new Promise<void>((resolve) => {
    const check = () => {
      if (current() === undefined) return
      stop()
      resolve()
    }
    const stop = subscribe(check)
    check()
    void work.then(stop, stop)
  })
  return Promise.race([work, trouble])
}

/** Sends a request; throws `Unreachable` if there is no response. */
export async function reach(send: () => Promise<Response>): Promise<Response> {
  try {
    return await send()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Unreachable('There was no answer.', { cause: error })
  }
}

interface RetryOptions {
  signal: AbortSignal
  /** Reads are retried until there is a response; writes only for a while. */
  isRead: boolean
}

/** Retries a repeatable request until there is a response: after `Retry-After`, otherwise with exponential backoff. */
export async function untilAnswered(send: () => Promise<Response>, options: RetryOptions): Promise<Response> {
  const key = {}
  const begun = performance.now()
  try {
    for (let attempt = 0; ; attempt++) {
      const outcome = await send().catch((error: unknown) => error)
      const isAnswer = outcome instanceof Response
      const isBusy = isAnswer ? busyStatuses.includes(outcome.status) : isBusyError(outcome)
      const isOver = !options.isRead && performance.now() - begun > writeTimeout
      if (isOver || (!isBusy && !(outcome instanceof Unreachable))) {
        if (!isAnswer) throw outcome
        if (waiting.size > 0) answered()
        return outcome
      }
      const retryAfter = isAnswer ? retryAfterOf(outcome) : undefined
      if (isAnswer) await outcome.body?.cancel()
      waiting.set(key, isBusy ? 'busy' : navigator.onLine ? 'unreachable' : 'offline')
      changed()
      await pause(retryAfter ?? pauseOf(attempt), options.signal, !isBusy)
    }
  } finally {
    if (waiting.delete(key)) changed()
  }
}

/** The session could not be renewed because the service was busy. */
const isBusyError = (error: unknown): boolean => error instanceof ApiError && busyStatuses.includes(error.status)

const jitter = (): number => 0.5 + Math.random() / 2

const pauseOf = (attempt: number): number => Math.min(maxPause, firstPause * 2 ** attempt) * jitter()

/**
 * Parses seconds or a date (RFC 9110, section 10.2.3) to milliseconds, plus jitter, so that clients do not retry all at
 * once.
 */
function retryAfterOf(response: Response): number | undefined {
  const text = response.headers.get('retry-after')
  if (text === null) return undefined
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  if (Number.isNaN(milliseconds)) return undefined
  return Math.min(maxRetryAfter, Math.max(0, milliseconds)) + firstPause * jitter()
}

const pauses = new Set<() => void>()

/** Another request got a response. */
const answered = (): void => {
  for (const end of pauses) end()
}

addEventListener('online', answered)

/** Waits; with `canEnd`, ends early if the service becomes reachable. */
function pause(milliseconds: number, signal: AbortSignal, canEnd: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timeout)
      pauses.delete(end)
      signal.removeEventListener('abort', abort)
      resolve()
    }
    const abort = () => {
      end()
      reject(signal.reason as Error)
    }
    const timeout = setTimeout(end, milliseconds)
    if (canEnd) pauses.add(end)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
  })
}

// The browser knows that it is offline before a request fails.
const ofBrowser = {}
function checkNetwork(): void {
  if (navigator.onLine) waiting.delete(ofBrowser)
  else waiting.set(ofBrowser, 'offline')
  changed()
}
addEventListener('online', checkNetwork)
addEventListener('offline', checkNetwork)

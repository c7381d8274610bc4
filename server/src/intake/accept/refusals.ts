import type { FastifyRequest } from 'fastify'
import { boundedCache } from '../../platform/model/bounded-cache.ts'
import type { Logger } from 'pino'
import type { Database } from '../../platform/database/database.ts'
import { bodyBeginning } from '../../platform/http/limits/request-body.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import type { ApiError } from '../../platform/model/errors.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import { maxStoredBody } from '../refused-pushes/resource.ts'
import type { Refusal } from '../refused-pushes/store.ts'
import { imports } from '../imports/resource.ts'
import { addressIn } from './address-in.ts'
import { PendingRefusals } from './pending-refusals.ts'
import type { Trigger } from './push.ts'
import { storePending } from './store-pending.ts'
import { singleHeader } from '../../platform/http/protocol/header.ts'

/** Records what becomes of pushes, without delaying their responses. */
export interface Refusals {
  /** A push with this secret in its path was answered with an error; `find` resolves to nothing if it is invalid. */
  refused(request: FastifyRequest, secret: string, find: () => Promise<Trigger | undefined>, error: ApiError): void
  accepted(request: FastifyRequest, trigger: Trigger): void
}

export interface LocalRefusals extends Refusals {
  /** Resolves when everything is stored, or could not be stored. */
  idle(): Promise<void>
}

interface Options {
  database: Database
  secret: Secret
  log: Logger
  onRefused: (code: string) => void
  /** Milliseconds between two times of storing, so that a flood costs the database no more than this. */
  interval?: number
}

/** Of more at the same time, the bodies are not stored. */
const maxRecording = 200
const noBody: { bytes: Buffer; isTruncated: boolean } = { bytes: Buffer.alloc(0), isTruncated: true }
/** Milliseconds for which an accepted sender is not looked up again. */
const acceptedFor = 10_000
const maxRemembered = 10_000

export const createRefusals = (options: Options): LocalRefusals => new BatchedRefusals(options)

class BatchedRefusals implements LocalRefusals {
  readonly #options: Options
  readonly #pending = new PendingRefusals()
  readonly #accepted = boundedCache<string, true>(maxRemembered, { ttl: acceptedFor })
  readonly #recording = new Set<Promise<void>>()
  #storing: Promise<void> | undefined
  #isClosing = false
  #timer: NodeJS.Timeout | undefined
  #wait: (() => void) | undefined

  constructor(options: Options) {
    this.#options = options
  }

  refused(request: FastifyRequest, secret: string, find: () => Promise<Trigger | undefined>, error: ApiError): void {
    // Read now: after the response, neither the address nor the rest of the body can be read.
    const described = describe(request, secret, error)
    const isStored = error.code !== 'rate_limited' && this.#recording.size < maxRecording
    const body = isStored ? bodyBeginning(request, maxStoredBody) : Promise.resolve(noBody)
    const record = async () => {
      const trigger = await find()
      if (!trigger) return
      this.#count(trigger, described)
      // The sender repeats it: it is counted, but not stored.
      if (error.code !== 'rate_limited') this.#add(trigger, described, await body, secret)
    }
    const recording = record()
      .catch((failure: unknown) => this.#options.log.warn({ err: failure }, 'a refused push could not be recorded'))
      .finally(() => this.#recording.delete(recording))
    this.#recording.add(recording)
  }

  accepted(request: FastifyRequest, trigger: Trigger): void {
    const sender = senderOf(request)
    const keys = [keyOf(trigger, sender), keyOf(trigger, '')]
    if (keys.every((key) => this.#accepted.has(key))) return
    for (const key of keys) this.#accepted.set(key, true)
    this.#pending.accept(trigger, sender)
    this.#schedule()
  }

  async idle(): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#recording)
    this.#wait?.()
    await this.#storing
  }

  #count(trigger: Trigger, { code, at, sender, message }: Described): void {
    this.#options.onRefused(code)
    this.#pending.count(trigger, code, at)
    if (code !== 'rate_limited') {
      for (const one of [sender, '']) this.#accepted.delete(keyOf(trigger, one))
      this.#pending.refuse(trigger, { sender, at, code, message })
    }
    this.#schedule()
  }

  #add(trigger: Trigger, described: Described, { bytes, isTruncated }: typeof noBody, secret: string): void {
    const body = withoutSecret(bytes, secret)
    const { importId } = trigger
    this.#pending.add(trigger, { ...described, importId, body, isTruncated, email: addressIn(body) })
    this.#schedule()
  }

  #schedule(): void {
    this.#storing ??= this.#storeAll().finally(() => {
      this.#storing = undefined
      if (!this.#pending.isEmpty) this.#schedule()
    })
  }

  async #storeAll(): Promise<void> {
    const { database, secret, log, interval = 1000 } = this.#options
    // What arrives in this turn of the event loop is stored together.
    await new Promise((resolve) => setImmediate(resolve))
    while (!this.#pending.isEmpty) {
      for (const batch of this.#pending.take()) {
        try {
          for (const { importId, sender } of await storePending(database, secret, batch)) {
            const subject = { import: encodeId(imports.idPrefix, importId), sender }
            log.warn(subject, 'every recent push of a sender was refused')
          }
        } catch (error) {
          log.warn({ err: error }, 'refused pushes could not be stored')
          if (!this.#isClosing) this.#pending.giveBack(batch)
        }
      }
      if (!this.#isClosing) await this.#pause(interval)
    }
  }

  /** Until the interval has passed, or the service stops. */
  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wait = () => {
        clearTimeout(this.#timer)
        resolve()
      }
      this.#timer = setTimeout(resolve, milliseconds).unref()
    })
  }
}

const keyOf = ({ importId }: Trigger, sender: string): string => `${importId} ${sender}`

type Described = Omit<Refusal, 'importId' | 'body' | 'isTruncated' | 'email'>

function describe(request: FastifyRequest, secret: string, error: ApiError): Described {
  const shown = (text: string | undefined, max = 300) =>
    text === undefined || text === '' ? undefined : shorten(text.replaceAll(secret, hidden), max)
  return {
    id: newId(),
    at: new Date(),
    code: error.code,
    message: shown(error.description, 2000) ?? error.code,
    details: (error.details ?? []).map(({ field, message }) => ({
      field: field.replaceAll(secret, hidden),
      message: message.replaceAll(secret, hidden),
    })),
    sender: senderOf(request),
    address: request.address,
    userAgent: shown(singleHeader(request, 'user-agent')),
    contentType: shown(singleHeader(request, 'content-type')),
  }
}

/** Instead of the secret of a URL. */
const hidden = '…'

const shorten = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

/** The page that pushes, because its visitors have many addresses; otherwise the network address. */
function senderOf(request: FastifyRequest): string {
  const { origin } = request.headers
  return origin !== undefined && /^https?:\/\/[^/\s]{1,290}$/i.test(origin)
    ? origin.toLowerCase()
    : addressKey(request.address)
}

/** Replaces the secret by asterisks. */
function withoutSecret(bytes: Buffer, secret: string): Buffer {
  for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, at)) bytes.fill('*', at, at + secret.length)
  return bytes
}

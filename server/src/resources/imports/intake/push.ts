import type { JsonValue } from '../../../platform/model/fields.ts'
import { ApiError, invalidParameters } from '../../../platform/model/errors.ts'
import { readJson } from '../../../platform/http/json.ts'

/** What the secret in a push's path opens, as it was found. Whether it still does is asked again when the push is kept. */
export interface Trigger {
  organizationId: string
  importId: string
  /** SHA-256 of the secret. */
  hash: Buffer
}

/** An Idempotency-Key of a push, as hashes. */
export interface PushKey {
  keyHash: Buffer
  /** Of all that makes two pushes the same. */
  requestHash: Buffer
}

export interface Push {
  /** JSON that was read strictly, as it was sent. */
  payload: Uint8Array
  /** The query parameters, a list for one that was repeated. */
  parameters: Readonly<Record<string, string | readonly string[]>>
  key: PushKey | undefined
}

/** A push that is kept: `id` is the row's uuid. */
export interface StoredPush {
  id: string
  createdAt: Date
  /** Kept by an earlier request with the same Idempotency-Key. */
  isReplay: boolean
}

/** Reads the body of a push strictly. The contract has no 422 there: what could not be kept as it was sent is 400 too. */
export function readPushBody(bytes: Uint8Array): JsonValue {
  try {
    return readJson(bytes) as JsonValue
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) throw invalidParameters(error.details ?? [])
    throw error
  }
}

/** Takes pushes in. */
export interface Intake {
  /** What the secret opens; undefined when it opens nothing, for whatever reason. */
  find(importId: string, secret: string): Promise<Trigger | undefined>
  /** For a refusal that never reached the database: does the trigger still open its import? */
  isOpen(trigger: Trigger): Promise<boolean>
  /** Resolves once the row is durable. Errors: `TriggerClosed`; 400 for a key used with another push; 503. */
  store(trigger: Trigger, push: Push): Promise<StoredPush>
}

/** Thrown when what a trigger opened was disabled or deleted, or its secret replaced, since it was found. */
export class TriggerClosed extends Error {}

import type { JsonValue } from '../../../platform/model/fields.ts'
import { ApiError, invalidParameters } from '../../../platform/model/errors.ts'
import { readJson } from '../../../platform/http/json.ts'

/** The import that the secret in a path belongs to. It is checked again when the push is stored. */
export interface Trigger {
  organizationId: string
  importId: string
  /** SHA-256 of the secret. */
  hash: Buffer
}

/** Hashes of the Idempotency-Key of a push. */
export interface PushKey {
  keyHash: Buffer
  /** Hash of everything that makes two pushes equal. */
  requestHash: Buffer
}

export interface Push {
  /** Validated JSON, as it was sent. */
  payload: Uint8Array
  /** The contact's address. */
  email?: string | undefined
  /** The query parameters; a repeated one is a list. */
  parameters: Readonly<Record<string, string | readonly string[]>>
  key: PushKey | undefined
}

/** A stored push. `id` is the uuid of its row. */
export interface StoredPush {
  id: string
  createdAt: Date
  /** Stored by an earlier request with the same Idempotency-Key. */
  isReplay: boolean
}

/**
 * Parses the body of a push strictly. The contract has no 422 here, so JSON that cannot be stored as sent is a 400 too.
 */
export function readPushBody(bytes: Uint8Array): JsonValue {
  try {
    return readJson(bytes) as JsonValue
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) throw invalidParameters(error.details ?? [])
    throw error
  }
}

/** Stores pushes. */
export interface Intake {
  /** Finds the trigger of a secret; undefined if it is not valid, for whatever reason. */
  find(importId: string, secret: string): Promise<Trigger | undefined>
  /** For rejections that never reached the database: whether the trigger is still valid. */
  isOpen(trigger: Trigger): Promise<boolean>
  /** Resolves once the row is durable. Errors: `TriggerClosed`; 400 if the key was used for another push; 503. */
  store(trigger: Trigger, push: Push): Promise<StoredPush>
}

/** Thrown if the import was disabled or deleted, or the secret replaced, since the trigger was found. */
export class TriggerClosed extends Error {}

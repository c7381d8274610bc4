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

/** The query parameters of a push: a repeated one is a list. Null is a header that was ignored. */
export type Parameters = Record<string, string | string[] | null>

export interface Push {
  /** Validated JSON, as it was sent. */
  payload: Uint8Array
  /** The contact's address. */
  email?: string | undefined
  parameters: Parameters
  key: PushKey | undefined
}

/** A stored push. `id` is the uuid of its row. */
export interface StoredPush {
  id: string
  createdAt: Date
  /** Stored by an earlier request with the same Idempotency-Key. */
  isReplay: boolean
}

/** Stores pushes. */
export interface Intake {
  /** Finds the trigger of a secret; undefined if it is not valid, for whatever reason. */
  find(importId: string, secret: string): Promise<Trigger | undefined>
  /** For rejections that never reached the database: whether the trigger is still valid. */
  isOpen(trigger: Trigger): Promise<boolean>
  /** Error: 429 if the import has received all bytes of today. */
  checkQuota(trigger: Trigger): Promise<void>
  /** Resolves once the row is durable. Errors: 429 if the import may not receive as many bytes today; `TriggerClosed`; 400 if the key was used for another push; 503. */
  store(trigger: Trigger, push: Push): Promise<StoredPush>
}

/** Thrown if the import was disabled or deleted, or the secret replaced, since the trigger was found. */
export class TriggerClosed extends Error {}

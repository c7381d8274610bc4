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
export interface KeptPush {
  id: string
  createdAt: Date
  /** Kept by an earlier request with the same Idempotency-Key. */
  isReplay: boolean
}

/** Takes pushes in. */
export interface Intake {
  /** What the secret opens; undefined when it opens nothing, for whatever reason. */
  find(importId: string, secret: string): Promise<Trigger | undefined>
  /** For a refusal that never reached the database: does the trigger still open its import? */
  isOpen(trigger: Trigger): Promise<boolean>
  /** Resolves once the row is durable. Errors: `TriggerClosed`; 400 for a key used with another push; 503. */
  keep(trigger: Trigger, push: Push): Promise<KeptPush>
}

/** Thrown when what a trigger opened was disabled or deleted, or its secret replaced, since it was found. */
export class TriggerClosed extends Error {}

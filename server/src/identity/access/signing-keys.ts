import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair, importJWK, importPKCS8, type JWK } from 'jose'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { unseal, seal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import {
  activateSigningKey,
  deleteSigningKeys,
  findSigningKeys,
  insertSigningKey,
  type StoredSigningKey,
  lockSigningKeys,
  type NewSigningKey,
  retireSigningKey,
} from './signing-key-store.ts'

/** A private key in the form that `jose` signs with. */
export type PrivateKey = Awaited<ReturnType<typeof importPKCS8>>
/** A public key in the form that `jose` verifies with. */
export type PublicKey = Awaited<ReturnType<typeof importJWK>>

export interface SigningKeys {
  /** The key that signs now. */
  active(): Promise<{ id: string; privateKey: PrivateKey }>
  /** The public key of this id, if it is one of ours. */
  find(id: string): Promise<PublicKey | undefined>
  /** The public halves of all keys that sign, will sign or have signed what may still be good. */
  published(): Promise<JWK[]>
}

export interface SigningKeyContext {
  database: Database
  secret: Secret
  /** Milliseconds since 1970. */
  clock?: () => number
}

export const signingAlgorithm = 'ES256'

/** Seconds for which others may keep the key set. */
export const keySetMaxAge = 5 * 60

/** Milliseconds after which a process looks which key signs now. */
const reloadAfter = 60_000
/** Milliseconds between two look-ups of ids that nobody knows: anyone can write such an id into a token. */
const minReloadInterval = 5000
/** Milliseconds for which a key is published before it signs: whoever keeps the key set has asked again by then. */
const publishingPeriod = 3 * keySetMaxAge * 1000
/** Milliseconds that a key signs before the service takes the next one by itself. */
const signingPeriod = 90 * 24 * 60 * 60 * 1000
/** Milliseconds that a retired key is kept: a token's 24 hours, and what clocks and memories of processes may differ. */
const retirementPeriod = 25 * 60 * 60 * 1000

/** The keys as this process remembers them: read again once a minute, and for an id that it does not know. */
export function createSigningKeys(context: SigningKeyContext & { clock: () => number }): SigningKeys {
  const { clock } = context
  let cached: LoadedKeys | undefined
  let loading: Promise<LoadedKeys> | undefined

  const load = (): Promise<LoadedKeys> =>
    (loading ??= loadKeys(context, clock())
      .then((loaded) => (cached = loaded))
      .finally(() => (loading = undefined)))
  // A clock that was set back must not make the memory last for ever.
  const isYoungerThan = ({ loadedAt }: LoadedKeys, milliseconds: number) => Math.abs(clock() - loadedAt) < milliseconds
  const currentKeys = async (): Promise<LoadedKeys> => (cached && isYoungerThan(cached, reloadAfter) ? cached : load())

  return {
    active: async () => (await currentKeys()).active,
    async find(id) {
      const keys = await currentKeys()
      const known = keys.publicKeys.get(id)
      if (known || isYoungerThan(keys, minReloadInterval)) return known
      return (await load()).publicKeys.get(id)
    },
    published: async () => (await currentKeys()).published,
  }
}

interface LoadedKeys {
  active: { id: string; privateKey: PrivateKey }
  publicKeys: ReadonlyMap<string, PublicKey>
  published: JWK[]
  /** Milliseconds since 1970. */
  loadedAt: number
}

async function loadKeys({ database, secret }: SigningKeyContext, now: number): Promise<LoadedKeys> {
  let stored = await findSigningKeys(database)
  if (!isComplete(stored)) {
    await database.crossTenantTransaction('keep the signing key', (db) => lockCompleteKeys(db, secret, new Date(now)))
    stored = await findSigningKeys(database)
  }
  const [active] = stored
  if (active?.status !== 'active' || !active.privateKeyEncrypted) {
    throw new Error('The database has no active signing key.')
  }
  const pem = unseal(deriveKey(secret, 'signing key', active.id), active.privateKeyEncrypted).toString()
  const publicKeys = await Promise.all(
    stored.map(async ({ id, publicJwk }) => [id, await importJWK(publicJwk, signingAlgorithm)] as const),
  )
  return {
    active: { id: active.id, privateKey: await importPKCS8(pem, signingAlgorithm) },
    publicKeys: new Map(publicKeys),
    published: stored.map(({ publicJwk }) => publicJwk),
    loadedAt: now,
  }
}

const isComplete = ([first, second]: readonly StoredSigningKey[]): boolean =>
  first?.status === 'active' && second?.status === 'next'

/** The keys, locked; those that are missing are made: both on an empty database, the next one after an upgrade. */
async function lockCompleteKeys(db: CrossTenantConnection, secret: Secret, at: Date) {
  const stored = await lockSigningKeys(db)
  const findOrCreate = async (status: 'active' | 'next'): Promise<StoredSigningKey> =>
    stored.find((key) => key.status === status) ?? insertSigningKey(db, await generateKey(secret), { status, at })
  const active = await findOrCreate('active')
  const next = await findOrCreate('next')
  // Made together, and nothing signed before them: no key set was ever without the next one.
  const isFirstPair = next.createdAt <= active.createdAt && stored.every(({ status }) => status !== 'retired')
  return { active, next, areFirst: isFirstPair }
}

async function generateKey(secret: Secret): Promise<NewSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint(jwk)
  const pem = await exportPKCS8(privateKey)
  return {
    id,
    algorithm: signingAlgorithm,
    publicJwk: { ...jwk, kid: id, alg: signingAlgorithm, use: 'sig' },
    privateKeyEncrypted: seal(deriveKey(secret, 'signing key', id), Buffer.from(pem)),
  }
}

/** What came of a rotation: the ids of the keys before and after it, or from when on it is possible. */
export type Rotation = { rotated: true; retired: string; active: string } | { rotated: false; possibleAt: Date }

/**
 * The next key signs from now on, and another one is made to follow it; keys that no good token is signed with go. A
 * key that others may not have heard of does not sign yet; nor, with `onlyIfDue`, while the present one is younger than
 * 90 days. Of several processes at once, one rotates.
 */
export const rotateSigningKeys = (
  { database, secret, clock = Date.now }: SigningKeyContext,
  { onlyIfDue = false } = {},
): Promise<Rotation> =>
  database.crossTenantTransaction('keep the signing key', async (db) => {
    const at = new Date(clock())
    const { active, next, areFirst: isFirstPair } = await lockCompleteKeys(db, secret, at)
    await deleteSigningKeys(db, new Date(at.getTime() - retirementPeriod))
    const usableAt = isFirstPair ? 0 : next.createdAt.getTime() + publishingPeriod
    const dueAt = onlyIfDue ? (active.activeSince ?? active.createdAt).getTime() + signingPeriod : 0
    const possibleAt = new Date(Math.max(usableAt, dueAt))
    if (possibleAt > at) return { rotated: false, possibleAt }
    await retireSigningKey(db, active.id, at)
    await activateSigningKey(db, next.id, at)
    await insertSigningKey(db, await generateKey(secret), { status: 'next', at })
    return { rotated: true, retired: active.id, active: next.id }
  })

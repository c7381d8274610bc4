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
  /** The public keys that sign, will sign, or have signed tokens that may still be valid. */
  published(): Promise<JWK[]>
}

export interface SigningKeyContext {
  database: Database
  secret: Secret
  /** Milliseconds since 1970. */
  clock?: () => number
}

export const signingAlgorithm = 'ES256'

/** Seconds for which clients may cache the key set. */
export const keySetMaxAge = 5 * 60

/** Milliseconds after which a process reads the keys again. */
const reloadAfter = 60_000
/** Minimum milliseconds between reloads for unknown key ids: anyone can put such an id into a token. */
const minReloadInterval = 5000
/** Milliseconds for which a key is published before it signs, so that cached key sets already contain it. */
const publishingPeriod = 3 * keySetMaxAge * 1000
/** Milliseconds that a key signs before it is rotated automatically. */
const signingPeriod = 90 * 24 * 60 * 60 * 1000
/** Milliseconds that a retired key is kept: a token's 24 hours, plus a margin for clock differences and caches. */
const retirementPeriod = 25 * 60 * 60 * 1000

/** The keys, cached in this process: read again once a minute, and for an unknown key id. */
export function createSigningKeys(context: SigningKeyContext & { clock: () => number }): SigningKeys {
  const { clock } = context
  let cached: LoadedKeys | undefined
  let loading: Promise<LoadedKeys> | undefined

  const load = (): Promise<LoadedKeys> =>
    (loading ??= loadKeys(context, clock())
      .then((loaded) => (cached = loaded))
      .finally(() => (loading = undefined)))
  // A clock that was set back must not keep the cache valid forever.
  const isYoungerThan = ({ loadedAt }: LoadedKeys, milliseconds: number) => Math.abs(clock() - loadedAt) < milliseconds
  const currentKeys = async (): Promise<LoadedKeys> => (cached && isYoungerThan(cached, reloadAfter) ? cached : load())

  return {
    active: async () => (await currentKeys()).active,
    async find(id) {
      const keys = await currentKeys()
      const key = keys.publicKeys.get(id)
      if (key || isYoungerThan(keys, minReloadInterval)) return key
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

/** Locks the keys and creates missing ones: both in an empty database, the next one after an upgrade. */
async function lockCompleteKeys(db: CrossTenantConnection, secret: Secret, at: Date) {
  const stored = await lockSigningKeys(db)
  const findOrCreate = async (status: 'active' | 'next'): Promise<StoredSigningKey> =>
    stored.find((key) => key.status === status) ?? insertSigningKey(db, await generateKey(secret), { status, at })
  const active = await findOrCreate('active')
  const next = await findOrCreate('next')
  // Created together, and nothing was signed before: every published key set contained the next key.
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

/** The result of a rotation: the ids of the retired and the new key, or when a rotation will be possible. */
export type Rotation = { rotated: true; retired: string; active: string } | { rotated: false; possibleAt: Date }

/**
 * Activates the next key, creates its successor, and deletes keys that no valid token is signed with. Does nothing
 * while cached key sets may lack the next key or, with `onlyIfDue`, while the active key is younger than 90 days. Of
 * concurrent processes, one rotates.
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

import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair, importJWK, importPKCS8, type JWK } from 'jose'
import type { Database, Spanning } from '../../platform/database/database.ts'
import { unseal, seal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import {
  activateSigningKey,
  deleteSigningKeys,
  findSigningKeys,
  insertSigningKey,
  type KeptSigningKey,
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

export interface KeyPlace {
  database: Database
  secret: Secret
  /** Milliseconds since 1970. */
  clock?: () => number
}

export const signingAlgorithm = 'ES256'

/** Seconds for which others may keep the key set. */
export const keySetMaxAge = 5 * 60

/** Milliseconds after which a process looks which key signs now. */
const staleAfter = 60_000
/** Milliseconds between two look-ups of ids that nobody knows: anyone can write such an id into a token. */
const betweenLookUps = 5000
/** Milliseconds for which a key is published before it signs: whoever keeps the key set has asked again by then. */
const publishedBefore = 3 * keySetMaxAge * 1000
/** Milliseconds that a key signs before the service takes the next one by itself. */
const signsFor = 90 * 24 * 60 * 60 * 1000
/** Milliseconds that a retired key is kept: a token's 24 hours, and what clocks and memories of processes may differ. */
const keptFor = 25 * 60 * 60 * 1000

/** The keys as this process remembers them: read again once a minute, and for an id that it does not know. */
export function createSigningKeys(place: KeyPlace & { clock: () => number }): SigningKeys {
  const { clock } = place
  let held: HeldKeys | undefined
  let loading: Promise<HeldKeys> | undefined

  const load = (): Promise<HeldKeys> =>
    (loading ??= loadKeys(place, clock())
      .then((loaded) => (held = loaded))
      .finally(() => (loading = undefined)))
  // A clock that was set back must not make the memory last for ever.
  const isYounger = ({ loadedAt }: HeldKeys, milliseconds: number) => Math.abs(clock() - loadedAt) < milliseconds
  const recent = async (): Promise<HeldKeys> => (held && isYounger(held, staleAfter) ? held : load())

  return {
    active: async () => (await recent()).active,
    async find(id) {
      const keys = await recent()
      const known = keys.publicKeys.get(id)
      if (known || isYounger(keys, betweenLookUps)) return known
      return (await load()).publicKeys.get(id)
    },
    published: async () => (await recent()).published,
  }
}

interface HeldKeys {
  active: { id: string; privateKey: PrivateKey }
  publicKeys: ReadonlyMap<string, PublicKey>
  published: JWK[]
  /** Milliseconds since 1970. */
  loadedAt: number
}

async function loadKeys({ database, secret }: KeyPlace, now: number): Promise<HeldKeys> {
  let kept = await findSigningKeys(database)
  if (!isComplete(kept)) {
    await database.spanningTransaction('keep the signing key', (spanning) =>
      lockComplete(spanning, secret, new Date(now)),
    )
    kept = await findSigningKeys(database)
  }
  const [active] = kept
  if (active?.status !== 'active' || !active.privateKeyEncrypted) {
    throw new Error('The database has no active signing key.')
  }
  const pem = unseal(deriveKey(secret, 'signing key', active.id), active.privateKeyEncrypted).toString()
  const publicKeys = await Promise.all(
    kept.map(async ({ id, publicJwk }) => [id, await importJWK(publicJwk, signingAlgorithm)] as const),
  )
  return {
    active: { id: active.id, privateKey: await importPKCS8(pem, signingAlgorithm) },
    publicKeys: new Map(publicKeys),
    published: kept.map(({ publicJwk }) => publicJwk),
    loadedAt: now,
  }
}

const isComplete = ([first, second]: readonly KeptSigningKey[]): boolean =>
  first?.status === 'active' && second?.status === 'next'

/** The keys, locked; those that are missing are made: both on an empty database, the next one after an upgrade. */
async function lockComplete(spanning: Spanning, secret: Secret, at: Date) {
  const kept = await lockSigningKeys(spanning)
  const of = async (status: 'active' | 'next'): Promise<KeptSigningKey> =>
    kept.find((key) => key.status === status) ?? insertSigningKey(spanning, await makeKey(secret), { status, at })
  const active = await of('active')
  const next = await of('next')
  // Made together, and nothing signed before them: no key set was ever without the next one.
  const areFirst = next.createdAt <= active.createdAt && kept.every(({ status }) => status !== 'retired')
  return { active, next, areFirst }
}

async function makeKey(secret: Secret): Promise<NewSigningKey> {
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
  { database, secret, clock = Date.now }: KeyPlace,
  { onlyIfDue = false } = {},
): Promise<Rotation> =>
  database.spanningTransaction('keep the signing key', async (spanning) => {
    const at = new Date(clock())
    const { active, next, areFirst } = await lockComplete(spanning, secret, at)
    await deleteSigningKeys(spanning, new Date(at.getTime() - keptFor))
    const knownAt = areFirst ? 0 : next.createdAt.getTime() + publishedBefore
    const dueAt = onlyIfDue ? (active.activeSince ?? active.createdAt).getTime() + signsFor : 0
    const possibleAt = new Date(Math.max(knownAt, dueAt))
    if (possibleAt > at) return { rotated: false, possibleAt }
    await retireSigningKey(spanning, active.id, at)
    await activateSigningKey(spanning, next.id, at)
    await insertSigningKey(spanning, await makeKey(secret), { status: 'next', at })
    return { rotated: true, retired: active.id, active: next.id }
  })

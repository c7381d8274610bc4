import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { Json } from './service.ts'

/** What an attestation statement signs. */
export interface AttestedData {
  authData: Buffer
  clientDataHash: Buffer
  credentialId: Buffer
  keys: { publicKey: KeyObject; privateKey: KeyObject }
}

export interface Attestation {
  format: string
  statement: Map<string, unknown>
}

/** How a response differs from an honest one. */
export interface ResponseOverrides {
  /** The origin of the page. */
  origin?: string
  rpId?: string
  /** Signature counter, instead of the next one. */
  counter?: number
  /** The authenticator did not verify the person. */
  unverified?: boolean
  /** The person was not present. */
  absent?: boolean
  challenge?: string
  /** The operation that the client claims. */
  type?: string
  userHandle?: string | null
  crossOrigin?: boolean
  /** The key to sign with, instead of its own. */
  key?: KeyObject
  /** The attestation, instead of none. */
  attest?: (attested: AttestedData) => Attestation
}

const hashOf = (clientDataJSON: string): Buffer =>
  createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()

const flags = { present: 0x01, verified: 0x04, attested: 0x40 }

/** A software authenticator that can send dishonest responses, which browsers do not allow. */
export class Authenticator {
  readonly #origin: string
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #id = randomBytes(32)
  #userHandle = ''
  #counter: number

  /** `hasCounter` is false for one without a signature counter, such as a synced passkey. */
  constructor(origin: string, { hasCounter = true } = {}) {
    this.#origin = origin
    this.#counter = hasCounter ? 1 : 0
  }

  /** The result of `navigator.credentials.create(options)`. */
  create(options: Json, overrides: ResponseOverrides = {}): Json {
    this.#userHandle = options.user.id
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.#id.length)
    const credential = Buffer.concat([Buffer.alloc(16), length, this.#id, this.#coseKey()])
    const authData = Buffer.concat([this.#authenticatorData(options.rp.id, overrides, flags.attested), credential])
    const clientDataJSON = this.#clientData('webauthn.create', options, overrides)
    const clientDataHash = hashOf(clientDataJSON)
    const attested = { authData, clientDataHash, credentialId: this.#id, keys: this.#keys }
    const { format, statement } = overrides.attest?.(attested) ?? { format: 'none', statement: new Map() }
    const attestation = new Map<string, unknown>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', Uint8Array.from(authData)],
    ])
    const attestationObject = Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url')
    return this.#credential({ clientDataJSON, attestationObject, transports: ['internal'] })
  }

  /** The result of `navigator.credentials.get(options)`. */
  get(options: Json, overrides: ResponseOverrides = {}): Json {
    if (this.#counter > 0) this.#counter++
    const authData = this.#authenticatorData(options.rpId, overrides)
    const clientDataJSON = this.#clientData('webauthn.get', options, overrides)
    const signature = sign(
      'sha256',
      Buffer.concat([authData, hashOf(clientDataJSON)]),
      overrides.key ?? this.#keys.privateKey,
    )
    const { userHandle = this.#userHandle } = overrides
    return this.#credential({
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      ...(userHandle !== null && { userHandle }),
    })
  }

  #credential(response: Json): Json {
    const id = this.#id.toString('base64url')
    return {
      id,
      rawId: id,
      type: 'public-key',
      response,
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    }
  }

  #authenticatorData(
    rpId: string,
    { rpId: other, counter, unverified, absent }: ResponseOverrides,
    extraFlags = 0,
  ): Buffer {
    const hash = createHash('sha256')
      .update(other ?? rpId)
      .digest()
    const flag = (absent ? 0 : flags.present) | (unverified ? 0 : flags.verified) | extraFlags
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter ?? this.#counter)
    return Buffer.concat([hash, Buffer.of(flag), count])
  }

  #clientData(type: string, { challenge }: Json, overrides: ResponseOverrides): string {
    const data = {
      type: overrides.type ?? type,
      challenge: overrides.challenge ?? challenge,
      origin: overrides.origin ?? this.#origin,
      crossOrigin: overrides.crossOrigin ?? false,
    }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }

  /** RFC 9053: key type EC2, algorithm ES256, curve P-256. */
  #coseKey(): Uint8Array {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64url'))
    return isoCBOR.encode(
      new Map<number, number | Uint8Array<ArrayBuffer>>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]),
    )
  }
}

import type { Schemas } from '../api/client.ts'
import { ApiError } from '../api/error.ts'

/** Whether this browser can use and create passkeys; never on plain HTTP. */
export const hasPasskeys =
  'PublicKeyCredential' in window && typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'

/** Asks the person to use a passkey; returns the `credential` for the next request. */
export async function askForPasskey(options: PublicKeyCredentialRequestOptionsJSON): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return jsonOf(await navigator.credentials.get({ publicKey }))
}

type Registration = Schemas['NewPasskey']['credential']

/** Asks the person to create a passkey. */
export async function createPasskey(options: PublicKeyCredentialCreationOptionsJSON): Promise<Registration> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  return jsonOf(await navigator.credentials.create({ publicKey })) as Registration
}

const jsonOf = (credential: Credential | null): unknown => (credential as PublicKeyCredential | null)?.toJSON()

/** The error message for a passkey that was not used or created. */
export function passkeyError(error: unknown, t: (key: 'passkeyExists' | 'passkeyCancelled') => string): Error {
  if (!(error instanceof DOMException)) return error instanceof Error ? error : new Error(String(error))
  const description = t(error.name === 'InvalidStateError' ? 'passkeyExists' : 'passkeyCancelled')
  return new ApiError(0, { code: error.name, message: description, description }, undefined)
}

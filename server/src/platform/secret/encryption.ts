import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const nonceLength = 12
const tagLength = 16

/** Encrypts with AES-256-GCM. The result is the nonce, the tag and the ciphertext. */
export function seal(key: Uint8Array, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const text = [cipher.update(plain), cipher.final()]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...text])
}

/** Decrypts the result of `seal`; throws if the key is wrong or a byte was changed. */
export function unseal(key: Uint8Array, sealed: Uint8Array): Buffer {
  const nonce = sealed.subarray(0, nonceLength)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
  decipher.setAuthTag(sealed.subarray(nonceLength, nonceLength + tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(nonceLength + tagLength)), decipher.final()])
}

/** SHA-256 is enough for stored tokens: with 256 random bits, a slow hash would add no protection. */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')

import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'

/** What a browser gives away when it subscribes, in base64url: its public key and a secret that both sides mix in. */
export interface BrowserKeys {
  p256dh: string
  auth: string
}

const curve = 'prime256v1'
/** An uncompressed point of P-256. */
export const publicKeyBytes = 65
export const authBytes = 16
const saltBytes = 16
/** One record; push services accept at least this much (RFC 8030). */
const recordBytes = 4096
/** Bytes of a message that fit into the record with its header, its padding and its tag. */
export const maxMessageBytes = recordBytes - (saltBytes + 4 + 1 + publicKeyBytes) - 1 - 16

/** The random parts of a message, which only the vectors of RFC 8291 choose. */
export interface Ephemeral {
  salt: Buffer
  /** The private key of the sender for this message. */
  privateKey: Buffer | undefined
}

/**
 * Encrypts a message for one browser (RFC 8291 with aes128gcm of RFC 8188), so that the push service cannot read it. Throws
 * if the browser's public key is not a point of the curve.
 */
export function encryptMessage(
  message: Buffer,
  { p256dh, auth }: BrowserKeys,
  { salt, privateKey }: Ephemeral = { salt: randomBytes(saltBytes), privateKey: undefined },
): Buffer {
  if (message.length > maxMessageBytes) throw new Error('the message is too long')
  const browserKey = Buffer.from(p256dh, 'base64url')
  const sender = createECDH(curve)
  if (privateKey) sender.setPrivateKey(privateKey)
  else sender.generateKeys()
  const senderKey = sender.getPublicKey()
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browserKey, senderKey])
  const secret = derive(sender.computeSecret(browserKey), Buffer.from(auth, 'base64url'), info, 32)
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // A single 2 ends the last record; there is no other padding.
  const encrypted = [cipher.update(message), cipher.update(Buffer.from([2])), cipher.final(), cipher.getAuthTag()]
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordBytes)
  return Buffer.concat([salt, size, Buffer.from([senderKey.length]), senderKey, ...encrypted])
}

const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, bytes))

/** Is this a public key to which a message can be encrypted? */
export function isPublicKey(text: string): boolean {
  const bytes = bytesOf(text)
  if (bytes?.length !== publicKeyBytes) return false
  const probe = createECDH(curve)
  probe.generateKeys()
  try {
    return probe.computeSecret(bytes).length > 0
  } catch {
    return false
  }
}

export const isAuth = (text: string): boolean => bytesOf(text)?.length === authBytes

/** Undefined if the text is not base64url. */
const bytesOf = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9_-]+$/.test(text) ? Buffer.from(text, 'base64url') : undefined

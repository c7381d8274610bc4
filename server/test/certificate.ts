import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A self-signed certificate and its key, both in PEM format. */
export interface Certificate {
  certificate: string
  key: string
}

/** An X.509 certificate (RFC 5280) for one host name, valid for a day. */
export function makeCertificate(host: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const day = 86_400_000
  const name = sequence(tlv(0x31, sequence(identifier('550403'), tlv(0x0c, Buffer.from(host)))))
  const algorithm = sequence(identifier('2a8648ce3d040302'))
  const names = sequence(identifier('551d11'), octets(sequence(tlv(0x82, Buffer.from(host)))))
  const authority = sequence(
    identifier('551d13'),
    tlv(0x01, Buffer.from([0xff])),
    octets(sequence(tlv(0x01, Buffer.from([0xff])))),
  )
  const signed = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(names, authority)),
  )
  const signature = tlv(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', signed, privateKey)]))
  const lines =
    sequence(signed, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Tag, length, value (X.690). */
function tlv(tag: number, value: Buffer): Buffer {
  const { length } = value
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), value])
}

const sequence = (...parts: Buffer[]): Buffer => tlv(0x30, Buffer.concat(parts))
const identifier = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'))
const octets = (value: Buffer): Buffer => tlv(0x04, value)

const time = (at: number): Buffer =>
  tlv(0x17, Buffer.from(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))

import { createSocket, type RemoteInfo } from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'

/** The DNS records of a name. */
export interface NameRecords {
  a?: readonly string[]
  aaaa?: readonly string[]
  txt?: readonly string[]
}

export interface NameServer {
  /** Every question so far, such as `A id.example`. */
  readonly questions: string[]
  close(): Promise<void>
}

const types: Readonly<Record<number, keyof NameRecords>> = { 1: 'a', 16: 'txt', 28: 'aaaa' }

/**
 * Starts a name server on loopback, which this process uses until it is closed. `lookUp` returns the records of a name:
 * undefined if the name does not exist, 'silence' to send no response. It is called for every question.
 */
export async function startNameServer(
  lookUp: (name: string) => NameRecords | 'silence' | undefined,
): Promise<NameServer> {
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(message)
    const kind = types[type]
    questions.push(`${kind?.toUpperCase() ?? type} ${name}`)
    const found = lookUp(name)
    if (found === 'silence') return
    const records = (kind && found?.[kind]) ?? []
    const header = Buffer.from(message.subarray(0, 12))
    header.writeUInt16BE(found ? 0x8180 : 0x8183, 2)
    header.writeUInt16BE(records.length, 6)
    header.fill(0, 8)
    const answers = records.map((record) =>
      resourceRecord(type, kind === 'txt' ? textData(record) : addressData(record)),
    )
    socket.send(Buffer.concat([header, message.subarray(12, end), ...answers]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const before = dns.getServers()
  dns.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    questions,
    close: async () => {
      dns.setServers(before)
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** The first question of a message (RFC 1035 section 4.1.2), and where it ends. */
function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** A record of the question's name, with a TTL of 0. */
function resourceRecord(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function addressData(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const gap = 8 - groups(left).length - groups(right).length
  const all = [...groups(left), ...Array.from({ length: gap }, () => 0), ...groups(right)]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

const textData = (text: string): Buffer => Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)])

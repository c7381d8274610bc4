import { appendFileSync, mkdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'

/**
 * Loaded first in processes that tests start, whose driver is part of a bundle: records each statement that the process
 * sends to PostgreSQL, once, as a line of JSON with the name of its connection. Reads the messages that it sends
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html); those over TLS cannot be read.
 */

/** Version 3.0 of the protocol, in a connection's first message. */
const version = 196_608

const folder = process.env.RECORDED_STATEMENTS
const recorded = new Set()

/** The connections to PostgreSQL: their application names, and the bytes that complete their last message. */
const connections = new WeakMap()

const { write } = Socket.prototype
Socket.prototype.write = function (chunk, ...others) {
  if (Buffer.isBuffer(chunk)) {
    const connection = connections.get(this)
    if (connection) recordStatements(chunk, connection)
    else connections.set(this, { name: applicationName(chunk), rest: 0 })
  }
  return write.call(this, chunk, ...others)
}

function applicationName(chunk) {
  if (chunk.length < 8 || chunk.readInt32BE(0) !== chunk.length || chunk.readInt32BE(4) !== version) return undefined
  const parts = chunk.toString('utf8', 8).split('\0')
  const place = parts.indexOf('application_name')
  return place === -1 ? '' : parts[place + 1]
}

function recordStatements(chunk, connection) {
  if (connection.name === undefined) return
  let start = connection.rest
  while (start < chunk.length) {
    const kind = String.fromCharCode(chunk[start])
    const end = start + 1 + chunk.readInt32BE(start + 1)
    // A Parse message has the statement's name before its text; a Query message has only the text.
    if (kind === 'P' || kind === 'Q') {
      const parts = chunk.toString('utf8', start + 5, end).split('\0')
      record(connection.name, parts[kind === 'P' ? 1 : 0])
    }
    start = end
  }
  connection.rest = start - chunk.length
}

function record(name, text) {
  const line = `${JSON.stringify({ name, text })}\n`
  if (recorded.has(line)) return
  recorded.add(line)
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${process.pid}.jsonl`), line)
}

import { constants, crc32 } from 'node:zlib'
import type { TableSum } from './row-sum.ts'

// The file is gzip-compressed text: one line with the header; for each table, its rows in COPY's text format, closed by
// a line `\.`; one line with the sums. The trailer is a second gzip member, stored uncompressed so that its length is
// known. It contains the length and the SHA-256 of all bytes before it. `zcat` prints the whole file.

/** A problem with a backup or its target database; the message is for the person at the terminal. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** The start of the header of every file that this version writes. */
export const formatHeader = { format: 'rapport backup', formatVersion: 1 } as const

/** The line after a table's rows. Data cannot look like it, because COPY escapes backslashes. */
export const endOfRows = '\\.\n'

export interface AppliedMigration {
  version: number
  name: string
  checksum: string
}

export interface SnapshotTable {
  name: string
  /** Without generated columns. */
  columns: string[]
}

export interface SnapshotHeader {
  format: string
  formatVersion: number
  rapport: string
  takenAt: string
  postgresql: string
  /** Fingerprint of the database's SECRET; null before its first start. */
  secretFingerprint: string | null
  migrations: AppliedMigration[]
  /** In file order: every table follows the tables that it references. */
  tables: SnapshotTable[]
}

export interface SnapshotSums {
  tables: Record<string, TableSum>
}

export interface CheckedSnapshot {
  header: SnapshotHeader
  sums: SnapshotSums
  /** In all tables. */
  rows: number
  bytes: number
}

/** Parses the header from the first line. Throws `SnapshotError` if this version cannot read the format. */
export function parseHeader(line: string): SnapshotHeader {
  const header = JSON.parse(line) as SnapshotHeader
  if (header.format !== formatHeader.format) throw new SnapshotError('This is not a Rapport backup.')
  const { rapport, formatVersion: fileVersion } = header
  if (fileVersion === formatHeader.formatVersion) return header
  const advice =
    fileVersion > formatHeader.formatVersion
      ? 'Restore it with the newer version.'
      : 'No version of Rapport writes this format. Use another backup.'
  throw new SnapshotError(
    `The backup was made by Rapport ${rapport} in format ${fileVersion}; this version reads format ${formatHeader.formatVersion}. Nothing was changed. ${advice}`,
  )
}

const byteDigits = 15
const trailerText = (bytes: number, sha256: string) =>
  `{"bytes":"${String(bytes).padStart(byteDigits, '0')}","sha256":"${sha256}"}\n`
const gzipOverhead = 10 + 5 + 8
export const trailerLength = gzipOverhead + trailerText(0, '0'.repeat(64)).length

/** The closing gzip member: header, one stored block, checksum, length (RFC 1951 and 1952). */
export function trailer(bytes: number, sha256: string): Buffer {
  const content = Buffer.from(trailerText(bytes, sha256))
  const before = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0, 0])
  before.writeUInt16LE(content.length, 11)
  before.writeUInt16LE(~content.length & 0xffff, 13)
  const after = Buffer.alloc(8)
  after.writeUInt32LE(crc32(content), 0)
  after.writeUInt32LE(content.length, 4)
  return Buffer.concat([before, content, after])
}

/** Personal data compresses well at a low level; higher levels take twice the time for a few per cent. */
export const compression = { level: constants.Z_BEST_SPEED + 2 }

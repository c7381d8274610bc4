import { constants, crc32 } from 'node:zlib'
import type { TableSum } from './row-sum.ts'

// The file is gzip, and text inside: a line with the header; of each table its rows in COPY's text format, closed by a
// line `\.`; a line with the sums. A second gzip member, stored uncompressed so that its length is known, is the trailer:
// the length and the SHA-256 of all bytes before it. `zcat` shows the whole.

/** What is wrong with a backup, or with the database it shall go to; for the person at the terminal. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** How the header of every file begins that this Rapport writes. */
export const formatHeader = { format: 'rapport backup', formatVersion: 1 } as const

/** The line after a table's rows; data cannot look like it, because COPY escapes backslashes. */
export const endOfRows = '\\.\n'

export interface AppliedMigration {
  version: number
  name: string
  checksum: string
}

export interface SnapshotTable {
  name: string
  /** Generated columns are left out: they follow from the others. */
  columns: string[]
}

export interface SnapshotHeader {
  format: string
  formatVersion: number
  /** The version of Rapport that took it. */
  rapport: string
  takenAt: string
  postgresql: string
  /** Of the SECRET that the database belongs to; null before its first start. */
  secretFingerprint: string | null
  migrations: AppliedMigration[]
  /** In the order of the file; a table comes after those that it refers to. */
  tables: SnapshotTable[]
}

export interface SnapshotSums {
  tables: Record<string, TableSum>
}

/** What a file holds, read to its end and found whole. */
export interface CheckedSnapshot {
  header: SnapshotHeader
  sums: SnapshotSums
  /** Of all tables. */
  rows: number
  bytes: number
}

/** The header of a file, from its first line. Error: `SnapshotError` where that is no backup that this Rapport reads. */
export function readHeader(line: string): SnapshotHeader {
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

/** Personal data compresses well and fast at once: higher levels take twice the time for a few per cent. */
export const compression = { level: constants.Z_BEST_SPEED + 2 }

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip, type Gunzip } from 'node:zlib'
import { Interrupted } from '../../database/interrupted.ts'
import {
  type CheckedSnapshot,
  endOfRows,
  parseHeader,
  SnapshotError,
  type SnapshotHeader,
  type SnapshotSums,
  trailer,
  trailerLength,
} from './format.ts'
import { RowSum } from './row-sum.ts'

export interface SnapshotRows {
  name: string
  columns: string[]
  /** Read it to the end before requesting the next table. */
  rows: AsyncIterable<Buffer>
}

/** Verifies every byte of a file, so that a damaged one changes nothing. Throws `SnapshotError` or `Interrupted`. */
export async function checkSnapshot(
  file: string,
  onBytes: (done: number, total: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<CheckedSnapshot> {
  const { size, end } = await readEnd(file)
  const digest = createHash('sha256')
  let done = 0
  const onChunk = (chunk: Buffer) => {
    if (signal?.aborted) throw new Interrupted('Interrupted: nothing was changed.')
    digest.update(chunk)
    done += chunk.length
    onBytes(done, size)
  }
  const reader = new SnapshotReader(file, { length: size - trailerLength, onChunk })
  let checked: CheckedSnapshot
  try {
    const header = await reader.header()
    const actualSums: SnapshotSums['tables'] = {}
    for await (const { name, rows } of reader.tables(header)) {
      const sum = new RowSum()
      for await (const chunk of rows) sum.add(chunk)
      actualSums[name] = sum.result()
    }
    const sums = await reader.sums()
    for (const [name, { rows, sha256 }] of Object.entries(actualSums)) {
      if (sums.tables[name]?.rows !== rows || sums.tables[name].sha256 !== sha256)
        throw damagedError(file, `in ${name}`)
    }
    const rows = Object.values(actualSums).reduce((total, table) => total + table.rows, 0)
    checked = { header, sums, rows, bytes: size }
  } catch (error) {
    const isExpected = error instanceof SnapshotError || error instanceof Interrupted
    throw isExpected ? error : damagedError(file, messageOf(error), error)
  } finally {
    reader.close()
  }
  if (!end.equals(trailer(done, digest.digest('hex')))) throw damagedError(file, 'the checksum does not match')
  return checked
}

/** Reads a file once, in order: header, tables, sums. */
export class SnapshotReader {
  readonly #gunzip: Gunzip
  readonly #source: AsyncIterator<Buffer>
  #buffer = Buffer.alloc(0)

  constructor(file: string, { length, onChunk }: { length: number; onChunk?: (chunk: Buffer) => void }) {
    this.#gunzip = createGunzip({ chunkSize: 1 << 18 })
    const observe = async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        onChunk?.(chunk)
        yield chunk
      }
    }
    // The last stream reports errors to the reader.
    pipeline(
      createReadStream(file, { end: length - 1, highWaterMark: 1 << 18 }),
      observe,
      this.#gunzip,
      () => undefined,
    )
    this.#source = this.#gunzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  }

  async header(): Promise<SnapshotHeader> {
    return parseHeader(await this.#readLine())
  }

  async *tables({ tables }: SnapshotHeader): AsyncGenerator<SnapshotRows> {
    for (const { name, columns } of tables) yield { name, columns, rows: this.#rows() }
  }

  /** The last line. Reads to the end of the file, so that trailing data is detected. */
  async sums(): Promise<SnapshotSums> {
    const sums = JSON.parse(await this.#readLine()) as SnapshotSums
    if (this.#buffer.length > 0 || (await this.#readMore())) throw new Error('there is data after the end')
    return sums
  }

  close(): void {
    this.#gunzip.destroy()
  }

  async #readLine(): Promise<string> {
    for (let searchedFrom = 0; ;) {
      const end = this.#buffer.indexOf(0x0a, searchedFrom)
      if (end >= 0) return this.#take(end + 1).toString('utf8')
      searchedFrom = this.#buffer.length
      if (!(await this.#readMore())) throw new Error('it is truncated')
    }
  }

  /** Yields complete rows, up to the closing line of a table, which may also be at the start of the buffer. */
  async *#rows(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#buffer.length >= endOfRows.length) {
        if (this.#buffer.subarray(0, endOfRows.length).toString('latin1') === endOfRows) {
          this.#take(endOfRows.length)
          return
        }
        const close = this.#buffer.indexOf(`\n${endOfRows}`)
        const end = close >= 0 ? close : this.#buffer.lastIndexOf(0x0a)
        if (end >= 0) {
          yield this.#take(end + 1)
          continue
        }
      }
      if (!(await this.#readMore())) throw new Error('it is truncated')
    }
  }

  #take(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return taken
  }

  async #readMore(): Promise<boolean> {
    const { done, value } = await this.#source.next()
    if (done) return false
    this.#buffer = this.#buffer.length === 0 ? Buffer.from(value) : Buffer.concat([this.#buffer, value])
    return true
  }
}

async function readEnd(file: string): Promise<{ size: number; end: Buffer }> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new SnapshotError(`${file} cannot be read (${error.code}).`, { cause: error })
  })
  try {
    const { size } = await handle.stat()
    const start = Buffer.alloc(2)
    await handle.read(start, 0, 2, 0)
    if (start[0] !== 0x1f || start[1] !== 0x8b) throw new SnapshotError(`${file} is not a Rapport backup.`)
    if (size <= trailerLength) throw damagedError(file, 'it is truncated')
    const end = Buffer.alloc(trailerLength)
    await handle.read(end, 0, trailerLength, size - trailerLength)
    return { size, end }
  } finally {
    await handle.close()
  }
}

const damagedError = (file: string, reason: string, cause?: unknown): SnapshotError =>
  new SnapshotError(`${file} is damaged or truncated (${reason}). Nothing was changed. Use another backup.`, { cause })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

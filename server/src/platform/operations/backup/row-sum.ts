import { hash } from 'node:crypto'

/** A table's row count and the sum of the rows' SHA-256 digests, which does not depend on their order. */
export interface TableSum {
  rows: number
  sha256: string
}

const newline = 0x0a
const wordCount = 8

/** Sums up a table's rows in COPY's text format: one row per line, with line breaks in values escaped. */
export class RowSum {
  readonly #sum = new Uint32Array(wordCount)
  #rows = 0
  /** The start of a row that continues in the next chunk. */
  #partialRow: Buffer[] = []

  get rows(): number {
    return this.#rows
  }

  add(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const row = chunk.subarray(from, end)
      this.#addRow(this.#partialRow.length === 0 ? row : Buffer.concat([...this.#partialRow.splice(0), row]))
      from = end + 1
    }
    if (from < chunk.length) this.#partialRow.push(chunk.subarray(from))
  }

  result(): TableSum {
    if (this.#partialRow.length > 0) throw new Error('The last row is incomplete.')
    const sha256 = [...this.#sum].map((word) => word.toString(16).padStart(8, '0')).join('')
    return { rows: this.#rows, sha256 }
  }

  /** Unlike XOR, addition distinguishes a duplicate row from a missing one. */
  #addRow(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer')
    for (let word = 0; word < wordCount; word++) {
      this.#sum[word] = (this.#sum[word] ?? 0) + digest.readUInt32BE(word * 4)
    }
    this.#rows++
  }
}

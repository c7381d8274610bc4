import { hash } from 'node:crypto'

/** How many rows a table has, and the sum of their SHA-256: the same in whatever order the rows come. */
export interface TableSum {
  rows: number
  sha256: string
}

const newline = 0x0a
const wordCount = 8

/** Sums up the rows of a table as COPY's text format has them: one a line, line ends within values escaped. */
export class RowSum {
  readonly #sum = new Uint32Array(wordCount)
  #rows = 0
  /** The beginning of a row whose end is yet to come. */
  #begun: Buffer[] = []

  get rows(): number {
    return this.#rows
  }

  add(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const row = chunk.subarray(from, end)
      this.#addRow(this.#begun.length === 0 ? row : Buffer.concat([...this.#begun.splice(0), row]))
      from = end + 1
    }
    if (from < chunk.length) this.#begun.push(chunk.subarray(from))
  }

  result(): TableSum {
    if (this.#begun.length > 0) throw new Error('The last row is incomplete.')
    const sha256 = [...this.#sum].map((word) => word.toString(16).padStart(8, '0')).join('')
    return { rows: this.#rows, sha256 }
  }

  /** Adding, unlike XOR, tells apart a row that is there twice from one that is not there. */
  #addRow(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer')
    for (let word = 0; word < wordCount; word++) {
      this.#sum[word] = (this.#sum[word] ?? 0) + digest.readUInt32BE(word * 4)
    }
    this.#rows++
  }
}

import type { Duplex } from 'node:stream'
import pg from 'pg'

/** A class of connections that report each write to their socket; a write is dropped if `onWrite` returns false. */
export function watchedClient(onWrite: (written: string, stream: Duplex) => boolean): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super(config)
      const { stream } = this.connection
      const [sendOne, sendSeveral] = [stream._write.bind(stream), stream._writev?.bind(stream)]
      const watch = (written: string, send: () => void) => onWrite(written, stream) && send()
      stream._write = (chunk, encoding, callback) => watch(String(chunk), () => sendOne(chunk, encoding, callback))
      stream._writev = (chunks, callback) =>
        watch(chunks.map(({ chunk }) => String(chunk)).join(''), () => sendSeveral?.(chunks, callback))
    }
  }
}

import { apiOrigin, authorizedFetch } from '../api/session.ts'
import { nowhere, type Places } from './places.ts'

/** Milliseconds between two signs of a browser that stays where it is; the stream sends something every 15 s. */
const interval = 12_000
/** A tab that has not answered for this time has crashed. */
const maxSilence = 40_000
/** What the service accepts. */
const maxRecords = 50

/** Reports to the service which records the tabs of this browser have open, in one request for all of them. */
export class Signs {
  /** Distinguishes browsers, or tabs that cannot act together, of a session. */
  readonly #name: string
  readonly #tabs = new Map<string, { places: Places; heardAt: number }>()
  #sent = JSON.stringify(nowhere)
  #sentAt = 0
  #isSending = false

  constructor(name: string) {
    this.#name = name
  }

  /** A tab has other records open now. */
  set(tab: string, places: Places): void {
    if (places.recordIds.length > 0) this.#tabs.set(tab, { places, heardAt: Date.now() })
    else this.#tabs.delete(tab)
    void this.#send(false)
  }

  /** Is it time to ask the tabs where they are, and to repeat it? */
  get isDue(): boolean {
    return this.#tabs.size > 0 && Date.now() - this.#sentAt >= interval
  }

  repeat(): void {
    for (const [tab, { heardAt }] of this.#tabs) if (Date.now() - heardAt > maxSilence) this.#tabs.delete(tab)
    void this.#send(true)
  }

  /** The tab is closed: the request outlives it. */
  leave(tab: string): void {
    const others = this.#placesWithout(tab)
    if (JSON.stringify(others) !== this.#sent) this.#request(others, true).catch(() => undefined)
  }

  async #send(isRepeated: boolean): Promise<void> {
    if (this.#isSending) return
    const places = this.#placesWithout(undefined)
    const text = JSON.stringify(places)
    if (text === this.#sent && !isRepeated) return
    this.#isSending = true
    this.#sent = text
    this.#sentAt = Date.now()
    // If it is lost, the next one says the same.
    await this.#request(places, false).catch(() => undefined)
    this.#isSending = false
    void this.#send(false)
  }

  #placesWithout(left: string | undefined): Places {
    const all = [...this.#tabs].filter(([tab]) => tab !== left).map(([, { places }]) => places)
    const unique = (ids: readonly string[]) => [...new Set(ids)].slice(0, maxRecords)
    return {
      recordIds: unique(all.flatMap(({ recordIds }) => recordIds)),
      editedIds: unique(all.flatMap(({ editedIds }) => editedIds)),
    }
  }

  async #request(places: Places, keepalive: boolean): Promise<void> {
    const response = await authorizedFetch(
      new Request(`${apiOrigin}/v5/presence`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tab: this.#name, ...places }),
        keepalive,
      }),
    )
    await response.body?.cancel()
  }
}

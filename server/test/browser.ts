/** A minimal browser for following links: it stores cookies per host and does not follow redirects by itself. */
export class Browser {
  readonly #jars = new Map<string, Map<string, string>>()
  /** Every address that was opened, in order. */
  readonly visited: string[] = []

  /** Requests one address. */
  async open(url: string, headers: Record<string, string> = {}): Promise<Response> {
    this.visited.push(url)
    const { host } = new URL(url)
    const jar = this.#jars.get(host) ?? new Map<string, string>()
    this.#jars.set(host, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { ...(cookie && { cookie }), ...headers } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** Follows redirects up to the first address that `isDestination` accepts; returns it without requesting it. */
  async follow(url: string, isDestination: (next: URL) => boolean): Promise<URL> {
    for (let next = new URL(url), steps = 0; steps < 20; steps++) {
      const response = await this.open(next.href)
      const location = response.headers.get('location')
      if (location === null)
        throw new Error(`${next.href} is not a redirect: ${response.status} ${await response.text()}`)
      next = new URL(location, next)
      if (isDestination(next)) return next
    }
    throw new Error('too many redirects')
  }

  cookie(host: string, name: string): string | undefined {
    return this.#jars.get(host)?.get(name)
  }

  setCookie(host: string, name: string, value: string): void {
    this.#jars.set(host, (this.#jars.get(host) ?? new Map<string, string>()).set(name, value))
  }
}

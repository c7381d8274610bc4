import { BlockList, isIP } from 'node:net'
import { availableProcessors } from './processes/processors.ts'

/** A setting of the service: its documentation and its parser. */
export interface Setting<Value> {
  name: string
  description: string
  /** The default as an operator would write it; undefined means unset. */
  default: string | undefined
  example: string
  /** Its value is never shown, not even in error messages. */
  secret: boolean
  /** Throws an error whose message completes "NAME: …". */
  parse(text: string): Value
}

type Declaration<Value> = Omit<Setting<Value>, 'default' | 'secret'> & { secret?: boolean }

/** A setting that always has a value. */
export const setting = <Value>(declared: Declaration<Value> & { default: string }): Setting<Value> => ({
  secret: false,
  ...declared,
})

/** A setting that may be unset. */
export const optional = <Value>(declared: Declaration<Value>): Setting<Value | undefined> => ({
  secret: false,
  ...declared,
  default: undefined,
})

/** A whole number from `min` to `max`. */
export const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) throw new Error(`expected a whole number from ${min} to ${max}`)
    return value
  }

/** A number of processes, or `auto` for one per available processor. */
export function processCount(text: string): number {
  if (text === 'auto') return Math.min(maxProcesses, availableProcessors())
  const value = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > maxProcesses) throw new Error(`expected a whole number from 1 to ${maxProcesses}, or "auto"`)
  return value
}
const maxProcesses = 64

/** One of the given values. */
export const oneOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((known) => known === text)
    if (!word) throw new Error(`expected one of ${words.join(', ')}`)
    return word
  }

/** An http or https URL without query, fragment or credentials. The trailing slash is dropped. */
export function address(text: string): string {
  const url = parseUrl(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('expected a URL that starts with http:// or https://')
  if (url.search || url.hash || url.username || url.password)
    throw new Error('expected a URL without query, fragment or credentials')
  return url.href.replace(/\/+$/, '')
}

/** Scheme, host and port, as a browser sends them in `Origin`. */
export function origin(text: string): string {
  const href = address(text)
  if (new URL(href).pathname !== '/')
    throw new Error('expected an origin: scheme, host and optional port, without a path')
  return new URL(href).origin
}

/** A comma-separated list. */
export const list =
  <Value>(parse: (text: string) => Value) =>
  (text: string): readonly Value[] =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map(parse)

/** A `postgres://` connection string. */
export function connectionString(text: string): string {
  // Without a host, as for a Unix socket, this would not be a valid URL.
  const url = parseUrl(text.replace('@/', '@localhost/'))
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw new Error('expected a connection string that starts with postgres:// or postgresql://')
  if (url.pathname.length < 2) throw new Error('expected a database name after the host, as in postgres://host/rapport')
  return text
}

const proxyWords = new Set(['loopback', 'linklocal', 'uniquelocal'])

/** `off`, the number of proxies in front, or the addresses and networks whose `X-Forwarded-For` header is trusted. */
export function trustedProxies(text: string): false | number | readonly string[] {
  if (text === 'off' || text === '0') return false
  if (/^\d+$/.test(text)) return integer(1, 16)(text)
  return list((item) => {
    if (!proxyWords.has(item) && !isNetwork(item))
      throw new Error('expected off, a number of proxies, or a list of addresses and networks such as 10.0.0.0/8')
    return item
  })(text)
}

function isNetwork(text: string): boolean {
  const [host = '', prefix, ...rest] = text.split('/')
  const family = isIP(host)
  if (family === 0 || rest.length > 0) return false
  if (prefix === undefined) return true
  if (!/^\d{1,3}$/.test(prefix)) return false
  try {
    new BlockList().addSubnet(host, Number(prefix), family === 6 ? 'ipv6' : 'ipv4')
    return true
  } catch {
    return false
  }
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

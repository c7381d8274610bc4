import type { IncomingMessage } from 'node:http'
import { boundedCache } from '../../model/bounded-cache.ts'
import { sha256 } from '../../secret/encryption.ts'
import { callerAddress, type Trust } from '../protocol/forwarded.ts'
import { addressKey } from './rate-limit.ts'

const maxCredentials = 20_000
const addressPrefix = 'address '

export const isAddress = (tenantKey: string): boolean => tenantKey.startsWith(addressPrefix)

/** Whose a request is, before its credential is checked: by earlier requests with it, otherwise that of its address. */
export class Tenants {
  readonly #trust: Trust
  readonly #isPush: (path: string) => boolean
  readonly #known = boundedCache<string, string>(maxCredentials)
  readonly #credentials = new WeakMap<IncomingMessage, string>()

  constructor({ trust, isPush }: { trust: Trust; isPush: (path: string) => boolean }) {
    this.#trust = trust
    this.#isPush = isPush
  }

  of(request: IncomingMessage): string {
    const credential = this.#credentialOf(request)
    const key = credential && sha256(credential).toString('base64')
    if (key !== undefined) this.#credentials.set(request, key)
    const known = key && this.#known.get(key)
    return known ?? `${addressPrefix}${addressKey(callerAddress(request, this.#trust))}`
  }

  learn(request: IncomingMessage, tenantKey: string): void {
    const key = this.#credentials.get(request)
    if (key !== undefined && this.#known.peek(key) !== tenantKey) this.#known.set(key, tenantKey)
  }

  forget(request: IncomingMessage): void {
    const key = this.#credentials.get(request)
    if (key !== undefined) this.#known.delete(key)
  }

  #credentialOf({ url = '', headers }: IncomingMessage): string | undefined {
    const path = url.split('?', 1)[0] ?? ''
    if (this.#isPush(path)) return path
    const { authorization } = headers
    return authorization && `${authorization} ${String(headers['service-organization-id'])}`
  }
}

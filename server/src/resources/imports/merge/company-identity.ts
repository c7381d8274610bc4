import { readValue } from '../../../platform/resource/body.ts'
import type { JsonValue, JsonObject } from '../../../platform/model/fields.ts'
import { companies } from '../../companies/resource.ts'
import { isFreeMail, isSharedHost } from '../payload/free-mail.ts'

/** What a company of a payload is called and known by, in the form that is stored. */
export interface CompanyIdentity {
  name?: string
  domain?: string
}

/** A company without a name is called by its nickname or domain; one with a website alone has the website's host as domain. */
export function identityOf({ name, nickname, domain, website }: JsonObject): CompanyIdentity {
  const domainOrHost = domain ?? (name === undefined ? hostOf(website) : undefined)
  const nameOrFallback = typeof name === 'string' ? name : asName(nickname ?? domainOrHost)
  return {
    ...(nameOrFallback !== undefined && { name: nameOrFallback }),
    ...(typeof domainOrHost === 'string' && { domain: domainOrHost }),
  }
}

/** The host of a website as a company's own domain; undefined for a host that many share. */
function hostOf(website: JsonValue | undefined): string | undefined {
  if (typeof website !== 'string') return undefined
  const host = new URL(website).hostname.replace(/^www\./, '')
  const read = readValue(companies.fields.domain, 'domain', host, 'create')
  if (Array.isArray(read) || typeof read.value !== 'string') return undefined
  return isFreeMail(read.value) || isSharedHost(read.value) ? undefined : read.value
}

/** A value in the place of a name, which has one line of at most 200 characters. */
export function asName(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  // eslint-disable-next-line no-control-regex -- control characters are what it takes out
  return [...value.replace(/[\u0000-\u001f\u007f]+/g, ' ')].slice(0, 200).join('')
}

import { parseValue } from '../../platform/records/request/body.ts'
import { companies } from '../../crm/companies/resource.ts'
import { isFreeMail, isSharedHost } from '../payload/free-mail.ts'
import type { JsonValue, JsonObject } from '../../platform/model/json.ts'

/** Name and domain of a company in a payload, in stored form. */
export interface CompanyIdentity {
  name?: string
  domain?: string
}

/** A company without a name is named by its nickname or domain. If there is only a website, its host is the domain. */
export function identityOf({ name, nickname, domain, website }: JsonObject): CompanyIdentity {
  const domainOrHost = domain ?? (name === undefined ? hostOf(website) : undefined)
  const nameOrFallback = typeof name === 'string' ? name : asName(nickname ?? domainOrHost)
  return {
    ...(nameOrFallback !== undefined && { name: nameOrFallback }),
    ...(typeof domainOrHost === 'string' && { domain: domainOrHost }),
  }
}

/** The host of a website as the domain of a company; undefined for a host that many companies share. */
function hostOf(website: JsonValue | undefined): string | undefined {
  if (typeof website !== 'string') return undefined
  const host = new URL(website).hostname.replace(/^www\./, '')
  const read = parseValue(companies.fields.domain, 'domain', host, 'create')
  if (Array.isArray(read) || typeof read.value !== 'string') return undefined
  return isFreeMail(read.value) || isSharedHost(read.value) ? undefined : read.value
}

/** A value as a name: one line of at most 200 characters. */
export function asName(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  // eslint-disable-next-line no-control-regex -- control characters are what it takes out
  return [...value.replace(/[\u0000-\u001f\u007f]+/g, ' ')].slice(0, 200).join('')
}

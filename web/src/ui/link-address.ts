/**
 * A mail link to this address only: anyone can push an address such as `ada@example.com?bcc=eve@example.com`, whose end
 * a mail program would parse as a header.
 */
export function mailLink(email: string): string {
  const at = email.lastIndexOf('@')
  const encode = encodeURIComponent
  return `mailto:${at < 0 ? encode(email) : `${encode(email.slice(0, at))}@${encode(email.slice(at + 1))}`}`
}

export const phoneLink = (phone: string): string => `tel:${encodeURIComponent(phone).replaceAll('%2B', '+')}`

export const domainLink = (domain: string): string => `https://${encodeURIComponent(domain)}`

/** An address that somebody typed, without mail headers and further recipients. */
export const withoutMailHeaders = (href: string): string =>
  /^mailto:/i.test(href) ? href.replace(/[?,;].*$/s, '') : href

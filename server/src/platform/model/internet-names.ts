import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'
import { ascii, withoutInvisible } from './text.ts'

/**
 * A dot-atom (RFC 5321; RFC 6531 for letters beyond ASCII, with the vowel signs that many scripts need) and a domain with
 * at least two labels. Quoted local parts and address literals are valid, but no one uses them.
 */
const atom = "[\\p{L}\\p{N}!#$%&'*+/=?^_`{|}~-][\\p{L}\\p{N}\\p{M}\\u200c\\u200d!#$%&'*+/=?^_`{|}~-]*"
const localPart = new RegExp(`^${atom}(\\.${atom})*$`, 'u')

/** An address without invisible characters, as typed otherwise; undefined if it is invalid. */
export function emailAddress(text: string): string | undefined {
  const address = withoutInvisible(ascii(text))
  const at = address.lastIndexOf('@')
  if (at < 1 || Buffer.byteLength(address.slice(0, at)) > 64) return undefined
  const host = address.slice(at + 1)
  const isValid = localPart.test(address.slice(0, at)) && !/[\s/?#:@%]/.test(host) && isDomain(asciiDomain(host))
  return isValid ? address : undefined
}

/** The key that makes two addresses equal: ignores case and the spelling of an international domain. */
export function emailKey(address: string): string {
  // Most addresses only differ in case.
  if (/^[\w.+-]+@[\w.-]+$/.test(address)) return address.toLowerCase()
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at).normalize('NFC').toLowerCase()
  const host = address.slice(at + 1)
  return `${local}@${asciiDomain(host) || host.toLowerCase()}`
}

/**
 * The domain in ASCII: of a host, a URL or an address. `https://www.Acme.example:443/shop` is `acme.example`. Undefined if
 * there is none.
 */
export function domainName(text: string): string | undefined {
  const written = withoutInvisible(ascii(text))
  const address = written.includes('@') ? emailAddress(written) : undefined
  if (written.includes('@') && address === undefined) return undefined
  const host = address
    ? address.slice(address.lastIndexOf('@') + 1)
    : written
        .replace(/^(?:https?:)?\/\//i, '')
        .replace(/[/?#\\].*$/s, '')
        .replace(/:\d{1,5}$/, '')
  const name = asciiDomain(host).replace(/\.$/, '')
  if (!isDomain(name)) return undefined
  const bare = name.replace(/^(?:www\.)+/, '')
  return getDomain(bare, { allowPrivateDomains: true }) === null ? name : bare
}

export const domainFragment = (text: string): string =>
  /^[\0-\u007f]*$/.test(text) ? text : asciiDomain(withoutInvisible(text)) || text

/** Files that people name instead of an address; no top-level domain has such a name. */
const fileName = /\.(?:bmp|docx?|gif|html?|ico|jpe?g|json|pdf|php|png|pptx?|svg|txt|webp|xlsx?|xml)$/i

/** An http or https URL; `https` is added to `www.example.com`. Undefined if it is invalid. */
export function webUrl(text: string): string | undefined {
  const written = withoutInvisible(text)
  // A link to `http:example.com` would be relative to the page that shows it.
  const url = /^https?:\/\//i.test(written) ? written : withScheme(withoutInvisible(ascii(text)))
  const parsed = url === undefined ? undefined : parsedUrl(url)
  return parsed && parsed.username === '' && parsed.password === '' && !/\s/.test(written) ? url : undefined
}

/** Not `URL.canParse`: Node 20 refuses some letters beyond ASCII, such as `é` in a host, depending on earlier calls. */
function parsedUrl(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}

function withScheme(written: string): string | undefined {
  const rest = written.replace(/^\/\//, '')
  const host = rest.replace(/[/?#].*$/s, '').replace(/:\d{1,5}$/, '')
  const isHost = !/[@\\%:]/.test(host) && isDomain(asciiDomain(host).replace(/\.$/, '')) && !fileName.test(host)
  return isHost ? `https://${rest}` : undefined
}

const asciiDomain = (host: string): string => domainToASCII(host.toLowerCase())

const domainLabel = '(?!-)[a-z0-9-]{1,63}(?<!-)'
const domainForm = new RegExp(`^(?=.{1,253}$)(${domainLabel}\\.)+(?!\\d+$)${domainLabel}$`)

const isDomain = (name: string): boolean => domainForm.test(name)

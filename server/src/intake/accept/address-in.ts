import { normalizers } from '../../platform/model/normalizers.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** Maximum addresses to try; a list of people is not a lead. */
const maxTried = 20

/** The address of the contact in a refused body, which may be of any form; otherwise the first address in the text. */
export function addressIn(body: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(body)
  return addressOf(emailIn(text)) ?? firstAddress(text) ?? firstAddress(decoded(text))
}

/** Where senders have the address. */
function emailIn(text: string): JsonValue {
  try {
    const { contact, email } = Object(JSON.parse(text)) as { contact?: JsonValue; email?: JsonValue }
    return (Object(contact) as { email?: JsonValue }).email ?? email ?? null
  } catch {
    return new URLSearchParams(text).get('email')
  }
}

function addressOf(value: JsonValue): string | undefined {
  if (typeof value !== 'string') return undefined
  const read = normalizers.email(value.trim())
  return 'value' in read && typeof read.value === 'string' ? read.value : undefined
}

/** A form encodes the sign as %40. */
const decoded = (text: string): string => text.replaceAll(/%40/g, '@')

/** Text around each @, up to a character that no address has; addresses are limited, so the work is too. */
function firstAddress(text: string): string | undefined {
  let at = text.indexOf('@')
  for (let tried = 0; at >= 0 && tried < maxTried; tried++) {
    const [local = ''] = /[^\s"'<>()[\]{},;:=&|\\/]*$/u.exec(text.slice(Math.max(0, at - 64), at)) ?? []
    const [host = ''] = /^[^\s"'<>()[\]{},;:=&|\\/?#]*/u.exec(text.slice(at + 1, at + 254)) ?? []
    const found = addressOf(`${local}@${host.replace(/\.+$/, '')}`)
    if (found !== undefined) return found
    at = text.indexOf('@', at + 1)
  }
  return undefined
}

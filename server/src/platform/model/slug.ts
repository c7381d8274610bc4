import { randomBytes } from 'node:crypto'

/**
 * A name as it stands in addresses: `Müller & Söhne` is `muller-sohne`, letters and digits of any script, without accents.
 * Undefined when the name has none.
 */
export function slugOf(name: string): string | undefined {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
  return letters.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || undefined
}

/**
 * A new slug made of a name: `muller-sohne-9f2c41d7`. Every one ends in 32 random bits, so that none reveals whether another
 * organization has the same name. Undefined when the name has neither a letter nor a digit.
 */
export function newSlug(name: string): string | undefined {
  const slug = slugOf(name)
  return slug && `${slug}-${randomBytes(4).toString('hex')}`
}

import { randomBytes } from 'node:crypto'

/**
 * A name in URL form: `Müller & Söhne` becomes `muller-sohne`, with letters and digits of any script, without accents.
 * Undefined if there are none.
 */
export function slugOf(name: string): string | undefined {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
  return letters.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || undefined
}

/**
 * A new slug from a name: `muller-sohne-9f2c41d7`. All end in 32 random bits, so that a slug does not reveal whether
 * another organization has the same name. Undefined if the name has neither letters nor digits.
 */
export function newSlug(name: string): string | undefined {
  const slug = slugOf(name)
  return slug && `${slug}-${randomBytes(4).toString('hex')}`
}

import { randomBytes } from 'node:crypto'

/** `Müller & Söhne` becomes `muller-sohne`: letters and digits of any script, or undefined. */
export function slugOf(name: string): string | undefined {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
  return letters.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || undefined
}

/** Such as `muller-sohne-9f2c41d7`: the random bits hide whether another organization has the same name. */
export function newSlug(name: string): string | undefined {
  const slug = slugOf(name)
  return slug && `${slug}-${randomBytes(4).toString('hex')}`
}

/**
 * A name as it stands in addresses: `Müller & Söhne` is `muller-sohne`, letters and digits of any script, without accents.
 * Undefined when the name has none.
 */
export function slugOf(name: string): string | undefined {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
  return letters.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || undefined
}

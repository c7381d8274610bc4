/**
 * An address in one line, with the name of its country in the language of the page. The service puts the English name
 * there, which has no comma. `USA` is the same in all languages.
 */
export function addressLine(line: string, code: unknown, locale: string): string {
  if (typeof code !== 'string' || code === 'US' || locale.startsWith('en')) return line
  const place = line.lastIndexOf(', ')
  const country = new Intl.DisplayNames(locale, { type: 'region' }).of(code) ?? code
  return `${place < 0 ? '' : line.slice(0, place + 2)}${country}`
}

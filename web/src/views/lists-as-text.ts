/** A list in one line: values are separated by commas, and quotes keep a value with a comma whole. */
export const textOfItems = (items: readonly string[], separator = ', '): string => items.map(quoted).join(separator)

const quoted = (item: string): string => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item)

/** The values of a line; a quote that is not closed belongs to its value. */
export function itemsOfText(text: string): string[] {
  const items = [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)/g)]
  return items.flatMap(([, whole, plain]) => {
    const item = whole === undefined ? (plain ?? '').trim() : whole.replaceAll('""', '"')
    return item.trim() === '' ? [] : [item]
  })
}

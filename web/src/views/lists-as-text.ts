/** Joins a list to one line: commas separate the values, and quotes enclose a value that contains a comma. */
export const textOfItems = (items: readonly string[], separator = ', '): string => items.map(quoted).join(separator)

const quoted = (item: string): string => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item)

/** Splits a line into values; an unclosed quote belongs to its value. */
export function itemsOfText(text: string): string[] {
  const items = [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)/g)]
  return items.flatMap(([, whole, plain]) => {
    const item = whole === undefined ? (plain ?? '').trim() : whole.replaceAll('""', '"')
    return item.trim() === '' ? [] : [item]
  })
}

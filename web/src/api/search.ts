/** The parameters of a URL, named as in the API: plain strings, such as `filter.status.equals=active`. */
export type Search = Record<string, string | readonly string[]>

export function parseSearch(text: string): Search {
  const parameters = new URLSearchParams(text)
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const values = parameters.getAll(name)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(search))
    for (const one of [value].flat()) if (one !== undefined) parameters.append(name, String(one))
  return parameters.size > 0 ? `?${parameters}` : ''
}

export type Yaml = string | null | readonly string[] | { readonly [name: string]: Yaml }

/**
 * Reads as much of YAML as compose.yaml uses: maps by indentation, words, texts in quotes, lists in brackets.
 * Errors: a line of any other form.
 */
export function readYaml(text: string): Record<string, Yaml> {
  const top: Record<string, Yaml> = {}
  const open: { indent: number; map: Record<string, Yaml> }[] = [{ indent: 0, map: top }]
  let last: { indent: number; name: string; map: Record<string, Yaml> } | undefined
  for (const line of text.split('\n').filter((one) => one.trim() !== '' && !one.trim().startsWith('#'))) {
    const [, space = '', name = '', value] = /^((?:  )*)([A-Za-z_]+):(?: (.+))?$/.exec(line) ?? []
    const indent = space.length
    if (name === '') throw new Error(`This line is not understood: ${line}`)
    if (last && indent > last.indent) {
      if (last.map[last.name] !== null || indent !== last.indent + 2) throw new Error(`This line is too deep: ${line}`)
      const map: Record<string, Yaml> = {}
      last.map[last.name] = map
      open.push({ indent, map })
    }
    while ((open.at(-1)?.indent ?? 0) > indent) open.pop()
    const map = open.at(-1)?.map ?? top
    if (name in map) throw new Error(`This name is given twice: ${line}`)
    map[name] = value === undefined ? null : valueOf(value)
    last = { indent, name, map }
  }
  return top
}

function valueOf(text: string): Yaml {
  if (!text.startsWith('[')) return scalarOf(text)
  const items = text.slice(1, -1).match(/"[^"]*"|'[^']*'|[^,\s][^,]*/g) ?? []
  return items.map((item) => scalarOf(item.trim()))
}

function scalarOf(text: string): string {
  if (/^(?:'[^'\\]*'|"[^"\\]*")$/.test(text)) return text.slice(1, -1)
  // What other readers of YAML would take as something else than this text.
  if (/[#{}&*!|>'"%@`]|: |:$/.test(text) || /^(?:yes|no|on|off|null|~)$/i.test(text))
    throw new Error(`Quote this: ${text}`)
  return text
}

/** Puts the variables into a text as compose does: `${NAME:?message}`, `${NAME:-default}`. */
export const interpolate = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)(?::([?-])([^}]*))?\}/g, (_, name: string, kind: string | undefined, rest = '') => {
    const value = variables[name]
    if (value !== undefined && value !== '') return value
    if (kind === '-') return rest
    throw new Error(`${name} is not set: ${rest}`)
  })

export type Yaml = string | null | readonly string[] | { readonly [name: string]: Yaml }

/**
 * Parses the YAML subset that compose.yaml uses: maps by indentation, plain and quoted scalars, and lists in brackets.
 * Throws on any other line.
 */
export function readYaml(text: string): Record<string, Yaml> {
  const top: Record<string, Yaml> = {}
  const open: { indent: number; map: Record<string, Yaml> }[] = [{ indent: 0, map: top }]
  let last: { indent: number; name: string; map: Record<string, Yaml> } | undefined
  for (const line of text.split('\n').filter((one) => one.trim() !== '' && !one.trim().startsWith('#'))) {
    const [, space = '', name = '', value] = /^((?:  )*)([A-Za-z_-]+):(?: (.+))?$/.exec(line) ?? []
    const indent = space.length
    if (name === '') throw new Error(`Line not understood: ${line}`)
    if (last && indent > last.indent) {
      if (last.map[last.name] !== null || indent !== last.indent + 2) throw new Error(`Unexpected indentation: ${line}`)
      const map: Record<string, Yaml> = {}
      last.map[last.name] = map
      open.push({ indent, map })
    }
    while ((open.at(-1)?.indent ?? 0) > indent) open.pop()
    const map = open.at(-1)?.map ?? top
    if (name in map) throw new Error(`Duplicate name: ${line}`)
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
  // Text that other YAML parsers would read as something else.
  if (/[#{}&*!|>'"%@`]|: |:$/.test(text) || /^(?:yes|no|on|off|null|~)$/i.test(text))
    throw new Error(`Quote this: ${text}`)
  return text
}

/** Replaces variables as Docker Compose does: `${NAME:?message}`, `${NAME:-default}`. */
export const interpolate = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)(?::([?-])([^}]*))?\}/g, (_, name: string, kind: string | undefined, rest = '') => {
    const value = variables[name]
    if (value !== undefined && value !== '') return value
    if (kind === '-') return rest
    throw new Error(`${name} is not set: ${rest}`)
  })

export interface MigrationStatement {
  text: string
  offset: number
}

const tokens = /\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|--.*|\/\*[\s\S]*?\*\/|;/g

/** Splits a migration into its statements. It contains no bodies with `begin atomic`, which have semicolons. */
export function splitStatements(text: string): MigrationStatement[] {
  const ends = [...text.matchAll(tokens)].filter(([token]) => token === ';').map(({ index }) => index + 1)
  return [...ends, text.length]
    .map((end, number) => {
      const offset = ends[number - 1] ?? 0
      return { text: text.slice(offset, end), offset }
    })
    .filter((statement) => withoutComments(statement.text) !== '')
}

export const withoutComments = (statement: string): string => statement.replaceAll(/--.*|\/\*[\s\S]*?\*\//g, '').trim()

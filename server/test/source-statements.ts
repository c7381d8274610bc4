import { parseSource, readTexts } from './sources.ts'

/** A template of SQL in the source, with `?` for each value and for each part that another template adds. */
export interface SqlTemplate {
  path: string
  text: string
}

/** The templates of SQL in those of the service's files at these paths whose text matches. */
export const sqlTemplates = (paths: RegExp, matching: RegExp): SqlTemplate[] =>
  readTexts(['server/src'], /(?<!\.test)\.ts$/)
    .filter(({ path, text }) => paths.test(path) && matching.test(text))
    .flatMap(({ path, text }) =>
      parseSource(path, text)
        .texts.filter((one) => isSql.test(one))
        .map((one) => ({ path, text: one })),
    )

const isSql = /\b(?:select|from|where|update|insert|delete)\b[^]*\b(?:select|from|where|set|into|exists|join)\b/

/** May the statement contain this template, whatever its values and its other parts are? */
export function isSentIn(statement: string, { text }: SqlTemplate): boolean {
  let position = 0
  for (const part of text.split('?')) {
    const found = statement.indexOf(part, position)
    if (found === -1) return false
    position = found + part.length
  }
  return true
}

/** Its file and how it ends. */
export const describeTemplate = ({ path, text }: SqlTemplate): string =>
  `${path}: ${text.replaceAll(/\s+/g, ' ').trim().slice(-90)}`

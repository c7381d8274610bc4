import { headings, routes } from './app.ts'
import { openapi } from './platform/openapi/openapi.ts'

/** The OpenAPI document as the build writes it to openapi.json: each reference and each bare type is on one line. */
export function formatApiDocument(): string {
  const text = JSON.stringify(openapi(routes, headings), null, 2)
  return `${text.replace(/\{\s+("(?:\$ref|type)": "[^"]*")\s+\}/g, '{ $1 }')}\n`
}

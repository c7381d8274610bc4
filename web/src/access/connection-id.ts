import { ApiError } from '../api/error.ts'

/**
 * Extracts the connection id from an organization's log-in link, or from a bare id. Throws an error for the field
 * `link`.
 */
export function connectionIdOf(link: string, message: string): string {
  const connectionId = /sso_[\da-f]{32}/.exec(link)?.[0]
  if (connectionId !== undefined) return connectionId
  const details = [{ field: 'link', message }]
  throw new ApiError(422, { code: 'invalid_field_value', message, description: message, details }, undefined)
}

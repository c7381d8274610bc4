import { expect } from 'vitest'
import { errorCodes } from '../src/platform/model/errors.ts'
import { version } from '../src/platform/http/protocol/version.ts'
import type { RawResponse } from './raw-http.ts'
import type { Json, TestResponse } from './service.ts'

/** Checks that the response is an error in the documented form. */
export function expectRefusal(
  response: TestResponse<Json> | RawResponse,
  status: number,
  code?: string,
): { code: string; description: string; details: { field: string; message: string; id?: string }[] } {
  const { answer: source, body, header } = readResponse(response)
  expect({ status: source.status, code: body?.code }, JSON.stringify(body)).toEqual({
    status,
    code: code ?? expect.any(String),
  })
  expect(refusalViolations(response)).toEqual([])
  expect(header('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  return { code: body.code, description: body.description, details: body.details ?? [] }
}

/** The deviations of an error response from the documented form. Fast enough for thousands of responses. */
export function refusalViolations(response: TestResponse<Json> | RawResponse): string[] {
  const { answer: source, body, header } = readResponse(response)
  const violations: string[] = []
  const check = (isTrue: boolean, label: string) => {
    if (!isTrue) violations.push(label)
  }
  check(header('content-type') === 'application/json; charset=utf-8', 'content type')
  check(header('version') === version, 'version')
  check(/^req_[0-9a-f]{32}$/.test(header('x-request-id') ?? ''), 'request id')
  const { code, status, message, description, details, ...others } = body ?? {}
  const declared = Object.hasOwn(errorCodes, code) ? errorCodes[code as keyof typeof errorCodes] : undefined
  check(declared?.status === status && status === source.status, `status of ${code}`)
  check(declared?.message === message, `message of ${code}`)
  check(typeof description === 'string' && description.length > 0 && description.length < 2000, 'description')
  check(Object.keys(others).length === 0, `unknown properties ${Object.keys(others).join()}`)
  const requiresDetails = code === 'invalid_parameters' || status === 422 || code === 'missing_scopes' || status === 409
  check(details === undefined ? !requiresDetails || code === 'idempotency_in_progress' : areDetails(details), 'details')
  check(status !== 401 || (header('www-authenticate') ?? '').startsWith('Bearer realm="rapport"'), 'www-authenticate')
  check(status !== 405 || /OPTIONS/.test(header('allow') ?? ''), 'allow')
  check(![429, 503].includes(status) || /^[1-9]\d*$/.test(header('retry-after') ?? ''), 'retry-after')
  return violations
}

function areDetails(details: Json): boolean {
  if (!Array.isArray(details) || details.length === 0 || details.length > 100) return false
  return details.every(
    ({ field, message, id, ...others }) =>
      Object.keys(others).length === 0 &&
      typeof field === 'string' &&
      field !== '' &&
      typeof message === 'string' &&
      message !== '' &&
      (id === undefined || /^[a-z]{3}_[0-9a-f]{32}$/.test(id)),
  )
}

function readResponse(source: TestResponse<Json> | RawResponse) {
  if (source.headers instanceof Headers) {
    const { headers } = source
    return { answer: source, body: source.body as Json, header: (name: string) => headers.get(name) }
  }
  const { headers } = source as RawResponse
  let body: Json
  try {
    body = JSON.parse(source.body as string)
  } catch {
    body = undefined
  }
  return { answer: source, body, header: (name: string) => headers[name] ?? null }
}

import { expect } from 'vitest'
import { errorCodes } from '../src/platform/model/errors.ts'
import { version } from '../src/platform/http/version.ts'
import type { RawAnswer } from './raw.ts'
import type { Json, TestAnswer } from './service.ts'

/** Checks that the answer is an error as the interface's section 7.1 and our decisions describe it. */
export function expectRefusal(
  given: TestAnswer<Json> | RawAnswer,
  status: number,
  code?: string,
): { code: string; description: string; details: { field: string; message: string; id?: string }[] } {
  const { answer, body, header } = opened(given)
  expect({ status: answer.status, code: body?.code }, JSON.stringify(body)).toEqual({
    status,
    code: code ?? expect.any(String),
  })
  expect(refusalFaults(given)).toEqual([])
  expect(header('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  return { code: body.code, description: body.description, details: body.details ?? [] }
}

/** What is wrong with an error's form; empty when nothing is. Cheap enough for thousands of answers. */
export function refusalFaults(given: TestAnswer<Json> | RawAnswer): string[] {
  const { answer, body, header } = opened(given)
  const faults: string[] = []
  const must = (isSo: boolean, what: string) => {
    if (!isSo) faults.push(what)
  }
  must(header('content-type') === 'application/json; charset=utf-8', 'content type')
  must(header('version') === version, 'version')
  must(/^req_[0-9a-f]{32}$/.test(header('x-request-id') ?? ''), 'request id')
  const { code, status, message, description, details, ...others } = body ?? {}
  const known = Object.hasOwn(errorCodes, code) ? errorCodes[code as keyof typeof errorCodes] : undefined
  must(known?.status === status && status === answer.status, `status of ${code}`)
  must(known?.message === message, `message of ${code}`)
  must(typeof description === 'string' && description.length > 0 && description.length < 2000, 'description')
  must(Object.keys(others).length === 0, `unknown members ${Object.keys(others).join()}`)
  const needsDetails = code === 'invalid_parameters' || status === 422 || code === 'missing_scopes' || status === 409
  must(details === undefined ? !needsDetails || code === 'idempotency_in_progress' : areDetails(details), 'details')
  must(status !== 401 || (header('www-authenticate') ?? '').startsWith('Bearer realm="rapport"'), 'www-authenticate')
  must(status !== 405 || /OPTIONS/.test(header('allow') ?? ''), 'allow')
  must(![429, 503].includes(status) || /^[1-9]\d*$/.test(header('retry-after') ?? ''), 'retry-after')
  return faults
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

function opened(answer: TestAnswer<Json> | RawAnswer) {
  if (answer.headers instanceof Headers) {
    const { headers } = answer
    return { answer, body: answer.body as Json, header: (name: string) => headers.get(name) }
  }
  const { headers } = answer as RawAnswer
  let body: Json
  try {
    body = JSON.parse(answer.body as string)
  } catch {
    body = undefined
  }
  return { answer, body, header: (name: string) => headers[name] ?? null }
}

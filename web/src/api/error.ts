/** A refused request, as described by the service (docs/errors.md). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** A few words, such as "Missing scopes". */
  readonly title: string
  /** A sentence that says what to do. */
  readonly description: string
  /** What is wrong with which field. */
  readonly details: readonly ErrorDetail[]
  /** The request's id, to quote when reporting a problem. */
  readonly requestId: string | undefined

  constructor(status: number, body: unknown, requestId: string | undefined) {
    const { code, message, description, details } = isErrorBody(body) ? body : unknownBody
    super(description)
    this.status = status
    this.code = code
    this.title = message
    this.description = description
    this.details = details ?? []
    this.requestId = requestId
  }
}

/** An error of one field. */
export interface ErrorDetail {
  field: string
  message: string
  /** The record that the error is about, if it differs from the record of the request. */
  id?: string
}

interface ErrorBody {
  code: string
  message: string
  description: string
  details?: ErrorDetail[]
}

/** A proxy in front of the service may return a different body. */
const unknownBody: ErrorBody = {
  code: 'internal_error',
  message: 'Unexpected answer',
  description: 'The answer did not come from Rapport. Try again; if it stays, ask your administrator.',
}

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body && 'description' in body

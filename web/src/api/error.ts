/** A refused request, as the service described it (docs/errors.md). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** A few words, such as "Missing scopes". */
  readonly title: string
  /** A sentence that says what to do. */
  readonly description: string
  /** What is wrong with which field. */
  readonly details: readonly ErrorDetail[]
  /** To quote when reporting a problem. */
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

/** What is wrong with a field. */
export interface ErrorDetail {
  field: string
  message: string
  /** The record that it is about, if that is not the one of the request. */
  id?: string
}

interface ErrorBody {
  code: string
  message: string
  description: string
  details?: ErrorDetail[]
}

/** A proxy in front of the service may answer with something else. */
const unknownBody: ErrorBody = {
  code: 'internal_error',
  message: 'Unexpected answer',
  description: 'The answer did not come from Rapport. Try again; if it stays, ask your administrator.',
}

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body && 'description' in body

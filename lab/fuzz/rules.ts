import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { errorCodes } from '../../server/src/platform/model/errors.ts'
import type { HttpResponse } from './connection.ts'
import type { Contract, Operation, Schema } from './document.ts'
import { bytesOf, type Draft, isMalformed } from './draft.ts'
import { formats } from './formats.ts'

/** A broken rule: its name, which groups equal violations, and the details. */
export interface BrokenRule {
  law: string
  what: string
}

/** Texts that no response may contain. */
export interface Secrets {
  /** Ids as 32 hexadecimal digits, unless the request contained them. */
  ids: ReadonlySet<string>
  /** A text that no request contains. */
  mark: string
}

/** Statuses for invalid requests, regardless of the operation. */
const protocolStatuses = [400, 404, 405, 406, 413, 414, 415, 431]

/** Checks responses against the document. */
export class Rules {
  readonly #contract: Contract
  readonly #secrets: Secrets
  readonly #mayRefuse: boolean
  readonly #ajv = new Ajv2020({ allErrors: false, strict: true, allowUnionTypes: true, formats })
  readonly #operations: ReadonlyMap<string, Operation>
  /** Allowed statuses by kind of request. */
  readonly #statuses = new Map<string, ReadonlySet<number>>()
  readonly #validators = new WeakMap<Schema, ValidateFunction>()

  /** `allows503`: whether 503 is allowed. */
  constructor(contract: Contract, secrets: Secrets, allows503: boolean) {
    this.#contract = contract
    this.#operations = new Map(contract.operations.map((one) => [`${one.method} ${one.path}`, one]))
    this.#secrets = secrets
    this.#mayRefuse = allows503
  }

  /** The rules that the response breaks. */
  violationsOf(draft: Draft, response: HttpResponse): BrokenRule[] {
    // Browsers are sent to the login page instead.
    const isLogin = response.status === 303 && response.headers.get('location')?.startsWith('/login?next=') === true
    const status = isLogin ? 401 : response.status
    const violations: BrokenRule[] = []
    const check = (holds: boolean, law: string, what: string) => {
      if (!holds) violations.push({ law, what })
    }
    const isAllowed503 = status === 503 && this.#mayRefuse && response.headers.has('retry-after')
    if (status >= 500 && !isAllowed503)
      violations.push({ law: 'no internal error', what: `${status} ${response.text.slice(0, 500)}` })
    const allowed = this.#statusesOf(draft)
    if (status < 500 && !allowed.has(status))
      violations.push({ law: 'documented status', what: `${status}, not ${[...allowed].join(', ')}` })
    check(response.headers.get('version') === this.#contract.version, 'headers', 'Version')
    check(/^req_[0-9a-f]{32}$/.test(response.headers.get('x-request-id') ?? ''), 'headers', 'X-Request-Id')
    const body = isLogin
      ? undefined
      : status >= 400
        ? errorViolation(draft, response)
        : this.#bodyViolation(draft, response)
    check(body === undefined, status >= 400 ? 'error format' : 'documented body', body ?? '')
    const leak = this.#leakIn(draft, response)
    check(leak === undefined, 'no foreign data', leak ?? '')
    return violations
  }

  /** The allowed statuses. If the path was replaced, only the union over all operations is known. */
  #statusesOf(draft: Draft): ReadonlySet<number> {
    const { method } = draft
    const isSame = keepsPath(draft)
    const requested = this.#asked(draft)
    const isValid = requested !== undefined && !isMalformed(draft)
    const key = `${requested?.name} ${isValid} ${isSame} ${method === 'OPTIONS'}`
    const known = this.#statuses.get(key)
    if (known) return known
    const documented = (requested ? [requested] : this.#contract.operations).flatMap(({ responses }) => [
      ...responses.keys(),
    ])
    const possible = isSame && !requested ? [] : documented
    const others = isValid ? [] : [...protocolStatuses, ...(method === 'OPTIONS' ? [204] : [])]
    const statuses = new Set([...possible, ...others])
    this.#statuses.set(key, statuses)
    return statuses
  }

  /** The operation with this method and path. HEAD is allowed wherever GET is. */
  #asked(draft: Draft): Operation | undefined {
    const { operation, method } = draft
    if (!keepsPath(draft)) return undefined
    const wanted = method === 'HEAD' ? 'GET' : method
    return this.#operations.get(`${wanted} ${operation.path}`)
  }

  #bodyViolation(draft: Draft, { status, headers, text }: HttpResponse): string | undefined {
    if (draft.method === 'HEAD' || draft.method === 'OPTIONS') return text === '' ? undefined : 'a body'
    // With another path, the operation is unknown. Leaks are checked anyway.
    if (!keepsPath(draft)) return undefined
    const content = this.#asked(draft)?.responses.get(status)
    if (!content || content.size === 0) return text === '' ? undefined : 'an undocumented body'
    const type = headers.get('content-type') ?? 'none'
    const schema = content.get(type.split(';')[0] ?? '')
    if (!schema || !/^[a-z/+-]+; charset=utf-8$/.test(type)) return `the content type ${type}`
    if (!type.startsWith('application/json')) return text === '' ? 'no body' : undefined
    return this.#valueViolation(schema, text)
  }

  #valueViolation(schema: Schema, text: string): string | undefined {
    const value = parsed(text)
    if (value === undefined) return 'invalid JSON'
    const validate = this.#validator(schema)
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors)
  }

  #validator(schema: Schema): ValidateFunction {
    const known = this.#validators.get(schema) ?? this.#ajv.compile(schema)
    this.#validators.set(schema, known)
    return known
  }

  /** Finds an id or text of the other organization, unless the request contained the id. */
  #leakIn(draft: Draft, { head, text }: HttpResponse): string | undefined {
    const { ids, mark } = this.#secrets
    const whole = `${head}\n${text}`
    if (whole.includes(mark)) return `the text ${mark}`
    const found = [...whole.matchAll(idPattern)].map(([id]) => id.replaceAll('-', ''))
    const foreign = found.filter((id) => ids.has(id))
    if (foreign.length === 0) return undefined
    const sent = bytesOf(draft, '').toString('latin1')
    const request = `${sent}${decoded(sent)}`
    const leaked = foreign.find((id) => !request.includes(id))
    return leaked && `the id ${leaked}`
  }
}

/** Whether the path still belongs to the operation. */
const keepsPath = ({ changes }: Draft): boolean => !changes.some((change) => change.startsWith('path'))

const idPattern = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g

/** An error is JSON, or a page if a browser requested it. */
function errorViolation({ method, headers }: Draft, response: HttpResponse): string | undefined {
  const isRead = method === 'GET' || method === 'HEAD'
  const isPage = (response.headers.get('content-type') ?? '').startsWith('text/html')
  if (!isPage) return errorBodyViolation(response, method === 'HEAD')
  if (!isRead || !headers.some((line) => /^accept:.*text\/html/i.test(line))) return 'an unrequested HTML page'
  if (method === 'HEAD') return response.text === '' ? undefined : 'a body'
  // The web application has its own page for paths that do not exist.
  if (response.status === 404 && response.text.includes('<meta name="rapport-paths"')) return undefined
  const expected = [`<h1>${response.status} `, response.headers.get('x-request-id') ?? '']
  return expected.every((text) => response.text.includes(text))
    ? undefined
    : 'an HTML page without status and request id'
}

/** Decodes valid percent-encoding. */
const decoded = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Checks the format of an error (docs/errors.md); undefined if it is valid. */
function errorBodyViolation({ status, headers, text }: HttpResponse, isHead: boolean): string | undefined {
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'the content type'
  if (status === 401 && !headers.get('www-authenticate')?.startsWith('Bearer realm="rapport"'))
    return 'WWW-Authenticate'
  if (status === 405 && !/OPTIONS/.test(headers.get('allow') ?? '')) return 'Allow'
  if ((status === 429 || status === 503) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'Retry-After'
  if (isHead) return text === '' ? undefined : 'a body for HEAD'
  const body = parsed(text)
  if (typeof body !== 'object' || body === null) return 'not an object'
  const { code, status: expected, message, description, details, ...others } = body as Record<string, unknown>
  const known = Object.entries(errorCodes).find(([name]) => name === code)?.[1]
  if (known?.status !== status || expected !== status) return `the status of ${String(code)}`
  if (known.message !== message) return `the message of ${String(code)}`
  if (typeof description !== 'string' || description === '' || description.length >= 2000) return 'the description'
  if (Object.keys(others).length > 0) return `unknown properties ${Object.keys(others).join()}`
  const needed = [409, 422].includes(status) || code === 'invalid_parameters' || code === 'missing_scopes'
  if (details === undefined) return needed && code !== 'idempotency_in_progress' ? 'no details' : undefined
  return areDetails(details) ? undefined : 'the details'
}

function areDetails(details: unknown): boolean {
  if (!Array.isArray(details) || details.length === 0 || details.length > 100) return false
  return details.every(({ field, message, ...others }: Record<string, unknown>) => {
    const values = [field, message, ...Object.values(others)]
    const isKnown = Object.keys(others).every((name) => name === 'id')
    return isKnown && values.every((text) => typeof text === 'string' && text !== '')
  })
}

import { type ErrorCode, errorCodes } from '../model/errors.ts'

/** Generates docs/errors.md. */
export function describeErrors(): string {
  const codes = (Object.keys(errorCodes) as ErrorCode[]).sort((left, right) => statusOf(left) - statusOf(right))
  return [
    '# Errors',
    '',
    'Generated from `server/src/platform/model/errors.ts` by `npm run generate`; do not edit.',
    '',
    'Every error is a JSON object with this structure:',
    '',
    '```json',
    JSON.stringify(example, null, 2),
    '```',
    '',
    '`code` is for programs; `message` and `description` are for people and may change. `details` lists every error found,',
    'each with the dotted path of a field or the name of a parameter or header. It is present with every 422 and',
    'with 400 `invalid_parameters`.',
    '',
    'A request rejected with a 4xx status has changed nothing. A request that gets a 5xx status or no response may have',
    'changed something: repeat it with the same `Idempotency-Key`.',
    '',
    '| Code | Status | Message |',
    '|---|---|---|',
    ...codes.map((code) => `| [\`${code}\`](#${code}) | ${statusOf(code)} | ${errorCodes[code].message} |`),
    '',
    ...codes.flatMap((code) => [
      `## ${code}`,
      '',
      `Status ${statusOf(code)}. ${errorCodes[code].when}`,
      '',
      `What to do: ${errorCodes[code].remedy}`,
      '',
    ]),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

const statusOf = (code: ErrorCode): number => errorCodes[code].status

const example = {
  code: 'invalid_parameters',
  status: 400,
  message: errorCodes.invalid_parameters.message,
  description: 'filter.emial.equals: unknown field; did you mean email?',
  details: [{ field: 'filter.emial.equals', message: 'unknown field; did you mean email?' }],
}

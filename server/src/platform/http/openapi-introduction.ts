/** What a reader of the OpenAPI document has to know before the first operation. */
export const introduction = `
A customer-relationship service: contacts, companies, campaigns and teams of an organization, as JSON over HTTP.

## Credentials

\`Authorization: Bearer\` takes an API key (\`svc_…\`, with \`Service-Organization-ID: org_…\` beside it) or an access
token, which \`POST /auth\` renews. Each operation names the scope that it needs; \`*\` stands for any resource or action
in the scopes of a key.

## Lists

A list is a bare JSON array of at most \`limit\` records, newest first unless \`orderBy\` and \`sort\` say otherwise. The
next page is asked for with \`startingAfter\`, the id of the last record; \`Link\` headers carry the address of the next and
the previous page ready to use. A page shorter than \`limit\` is the last one.

\`filter.<field>.<operator>=<value>\` narrows a list; several filters hold together, 25 at most. Fields under keys of the
organization's own, such as \`filter.customProperties.plan.equals=pro\`, are parameters of the same form; in this document
they are the members of one object, \`openFilters\`. \`<field>=<value>\` is short for \`equals\`, of a list of words for
\`has\`. What is not known or does not fit is refused with 400; no parameter is ever ignored.

## Changes

\`PATCH\` is JSON Merge Patch: what is sent is changed, null clears. \`If-Match\` with the record's \`ETag\` makes sure that
nothing is overwritten unseen. \`Idempotency-Key\` makes a \`POST\` or \`PATCH\` safe to repeat.

## Errors

Every error has one shape, with a \`code\` for programs and all faults at once in \`details\`. A known path with another
method is 405 with \`Allow\`. \`HEAD\` stands beside every \`GET\`.
`.trim()

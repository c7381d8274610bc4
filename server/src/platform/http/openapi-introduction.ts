export const introduction = `
A customer-relationship service: contacts, companies, campaigns and teams of an organization, as JSON over HTTP.

## Credentials

\`Authorization: Bearer\` takes an API key (\`svc_…\`, together with \`Service-Organization-ID: org_…\`) or an access
token, which \`POST /auth\` renews. Each operation names the scope it needs; \`*\` stands for any resource or action
in the scopes of a key.

## Lists

A list is a bare JSON array of at most \`limit\` records, newest first unless \`orderBy\` and \`sort\` say otherwise. The
next page starts after \`startingAfter\`, the id of the last record; \`Link\` headers contain the URLs of the next and
the previous page. A page shorter than \`limit\` is the last one.

\`filter.<field>.<operator>=<value>\` narrows a list; all filters must match, and a list accepts at most 25. This
document describes them as the properties of one object, \`filters\`, with \`style: form\` and \`explode: true\`: each
property is sent as a separate query parameter, and no parameter is called \`filters\`. Fields below keys that the
organization chooses, such as \`filter.customProperties.plan.equals=pro\`, work the same way; if the key has a
definition, operators and values are those of its type. \`<field>=<value>\` is short for \`equals\`, or for \`has\` if
the field is a list of strings. An unknown or invalid parameter is rejected with 400.

With \`select[]\`, records contain only the selected properties. The schemas whose names end in \`Selection\` describe
these records: no property is required there.

## Changes

\`PATCH\` is JSON Merge Patch: fields you send are changed, null clears a field. \`If-Match\` with the record's \`ETag\`
prevents overwriting other changes. \`Idempotency-Key\` makes a \`POST\`, \`PATCH\` or \`DELETE\` safe to retry.

## Headers

Every response has \`X-Request-Id\` and \`Version\`. \`RateLimit\` and \`RateLimit-Policy\` show how much of the limit is left.

## Errors

A browser that opens a URL with \`GET\` gets errors as HTML pages; every program gets JSON.

All errors have the same structure, with a \`code\` for programs and every invalid field in \`details\`. A known path with another
method is 405 with \`Allow\`. Every \`GET\` also supports \`HEAD\`.
`.trim()

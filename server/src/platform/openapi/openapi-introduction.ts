export const introduction = `
Rapport is a CRM that you host yourself: contacts, companies, deals, tasks, notes, campaigns and imports of leads, as JSON
over HTTP. It also manages people: members, roles, teams, API keys, sessions and the audit log. The explorer of an
installation is at \`/v5/swagger\`, this document at \`/v5/docs\`, and the guides at [\`/docs\`](/docs).

## Credentials

Send two headers:

\`\`\`
Authorization: Bearer <credential>
Service-Organization-ID: org_…
\`\`\`

- An API key (\`svc_…\`) is for programs. Create one under Settings → API keys. Each request needs both headers.
- An access token (a JWT) is for a person who is logged in. \`POST /auth\` renews it. The organization header is optional:
  without it, the session's current organization applies.
- Leads are pushed to the URL of an import, which contains its own secret.

Each operation names the scope it needs, such as \`urn:service:contact:list:read\`. In the scopes of a key, \`*\` stands for
any resource or action. Operations of a person's own account (\`/v5/me/…\`) accept only access tokens.

## Lists

A list is a bare JSON array of at most \`limit\` records (1 to 100, 25 by default), newest first unless \`orderBy\` and
\`sort\` say otherwise. To read all pages, follow the URL in the header \`Link: <…>; rel="next"\` until there is none. Or
send the id of the last record as \`startingAfter\`; a page shorter than \`limit\` is the last one. \`…/count\` returns the
number of records.

\`filter.<field>.<operator>=<value>\` narrows a list; all filters must match. \`<field>=<value>\` is short for \`equals\`,
or for \`has\` if the field is a list. This document describes the filters as the properties of one object, \`filters\`,
with \`style: form\` and \`explode: true\`: each property is a query parameter of that name. Clients that send
\`filters[filter.email.contains]=ada\` instead get the same result. Keys that the organization chooses work the same way, as
in \`filter.customProperties.plan.equals=pro\`. \`query\` searches for words. An unknown or invalid parameter is rejected
with 400 and never ignored.

\`POST …/search\` is the same list with a filter tree of \`and\`, \`or\`, \`not\` and related records in its body.

With \`select[]\`, records contain only the selected properties. The schemas whose names end in \`Selection\` describe
these records: no property is required there.

## Changes

\`PATCH\` is JSON Merge Patch: fields you send are changed, null clears a field. \`If-Match\` with the record's \`ETag\`
prevents overwriting other changes: 412 if the record has changed. \`Idempotency-Key\` makes a \`POST\`, \`PATCH\` or
\`DELETE\` safe to retry.

## Errors

All errors have the same structure: a \`code\` for programs, a \`message\` and a \`description\` for people, and every
invalid field in \`details\`. Programs get them as JSON, a browser that opens a URL
gets pages. A known path with another method is 405 with \`Allow\`. Every \`GET\` also supports \`HEAD\`.

## Limits

A credential has 500 reads and 200 writes a second, with bursts of 1,000 and 2,000, unless the operator chose other limits.
\`RateLimit\` and \`RateLimit-Policy\` show what is left. After a 429 or 503, wait as long as \`Retry-After\` says. A body
has at most 1 MiB, a URL 8 KiB, a list 25 filters, a search 100 conditions.

## Headers

Every response has \`X-Request-Id\`, which to include when you report a problem, and \`Version\`, the date of this contract.
[API versions](/docs/guides/api-versions.md) lists what changed at each date.
A \`GET\` with \`If-None-Match\` is answered with 304 if nothing has changed.
`.trim()

/** The contract's date: `Version` on every answer, `info.version` in the OpenAPI document. */
export const version = '2026-11-21'

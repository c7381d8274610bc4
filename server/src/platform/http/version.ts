/** The contract's date: the `Version` header, and `info.version` in the OpenAPI document. */
export const version = '2026-11-21'

/**
 * The contract's date: the `Version` header, and `info.version` in the OpenAPI document. When the contract changes, it
 * becomes the day of the change, and docs/guides/api-versions.md lists what changed for callers.
 */
export const version = '2026-11-28'

/** Of the contract at that date: server/test/contract.test.ts computes it, and fails if the contract has changed. */
export const contractFingerprint = 'c9fbbf46e1299acc'

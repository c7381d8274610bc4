import type { Reader } from '../src/platform/model/caller.ts'

/** The service itself, whose statements see every record of the organization. */
export const seesAll: Reader = { kind: 'work', userId: null, role: undefined }

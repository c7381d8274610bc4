export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

export type JsonObject = { [key: string]: JsonValue }

/** JSON Schema 2020-12, as far as both OpenAPI 3.1 and ajv support it. */
export type Schema = Record<string, unknown>

// The package has no types; these are the parts that our tests use.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  interface Context {
    oidc: {
      client: { clientId: string }
      session: { accountId: string }
      provider: { Grant: new (of: { clientId: string; accountId: string }) => Grant }
    }
  }

  export interface Account {
    accountId: string
    claims(): Promise<Record<string, unknown>>
  }

  export interface Configuration {
    clients: Record<string, unknown>[]
    findAccount(context: Context, accountId: string): Promise<Account>
    loadExistingGrant(context: Context): Promise<Grant>
    claims: Record<string, string[]>
    conformIdTokenClaims: boolean
    interactions: { url(context: Context, interaction: { uid: string }): string }
    features: Record<string, { enabled: boolean }>
    cookies: { keys: string[] }
    jwks: { keys: object[] }
    [more: string]: unknown
  }

  export class Provider {
    constructor(issuer: string, configuration: Partial<Configuration>)
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}

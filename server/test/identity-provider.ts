import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** The claims of the person who logs in at the provider. */
export interface ProviderPerson {
  sub: string
  email?: string
  email_verified?: unknown
  name?: string
}

export interface IdentityProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The person who logs in next; null cancels the login. */
  person: ProviderPerson | null
  /** Handlers that replace the provider's own responses, by path. */
  readonly overrides: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
  /** The requests received: method and path. */
  readonly requests: string[]
  /** Adds a redirect URI to the client. */
  register(redirectUri: string): void
  close(): Promise<void>
}

export interface IdentityProviderOptions {
  /** The client has no secret. */
  isPublic?: boolean
  /** The address is in the ID token, not only in the userinfo response. */
  addressInIdToken?: boolean
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: randomUUID() }

/** Starts a real provider on loopback, which logs in `person` without a form. */
export async function startIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const { isPublic = false, addressInIdToken = false } = options
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const redirectUris: string[] = []
  let provider: Provider | undefined
  const identityProvider: IdentityProvider = {
    issuer,
    clientId: `client of ${issuer}`,
    clientSecret: `the secret of ${issuer} & more: %+`,
    person: { sub: 'nobody yet' },
    overrides: new Map(),
    requests: [],
    register(redirectUri) {
      redirectUris.push(redirectUri)
      const { clientId, clientSecret } = identityProvider
      const secret = isPublic
        ? { token_endpoint_auth_method: 'none' }
        : { client_secret: clientSecret, token_endpoint_auth_method: 'client_secret_basic' }
      provider = createProvider(identityProvider, addressInIdToken, {
        client_id: clientId,
        redirect_uris: [...redirectUris],
        ...secret,
      })
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  server.on('request', (request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    identityProvider.requests.push(`${request.method} ${path}`)
    const override = identityProvider.overrides.get(path)
    if (override) return override(request, response)
    if (!provider) return response.writeHead(503).end()
    if (path.startsWith('/interaction/')) return void finish(provider, identityProvider.person, request, response)
    provider.callback()(request, response)
  })
  return identityProvider
}

function createProvider(
  identityProvider: IdentityProvider,
  addressInIdToken: boolean,
  client: Record<string, unknown>,
): Provider {
  return new Provider(identityProvider.issuer, {
    clients: [client],
    findAccount: async (_, accountId) => ({
      accountId,
      claims: async () => ({ ...identityProvider.person, sub: accountId }),
    }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: !addressInIdToken,
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['a key of a test'] },
    jwks: { keys: [key] },
  })
}

async function finish(
  provider: Provider,
  person: ProviderPerson | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const result = person
    ? { login: { accountId: person.sub } }
    : { error: 'access_denied', error_description: 'the person said no' }
  await provider.interactionFinished(request, response, result)
}

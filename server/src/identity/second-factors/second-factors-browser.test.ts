import type { Browser, CDPSession, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { addAuthenticator, chromium, sharedChromium } from '../../../test/chromium.ts'
import { newPerson } from '../../../test/second-factors.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestResponse } from '../../../test/service.ts'

/** A page of the service in a browser, with its own authenticator. */
interface Visitor {
  page: Page
  devtools: CDPSession
  authenticatorId: string
}

async function visit(browser: Browser, url: string): Promise<Visitor> {
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(`${url}/healthz`)
  const { devtools, authenticatorId } = await addAuthenticator(page)
  return { page, devtools, authenticatorId }
}

/** What a page's own script would do, as text: it runs in the browser. */
const scripts = {
  create: `async (options) => (await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })).toJSON()`,
  get: `async (options) => (await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON()`,
}
const inPage = ({ page }: Visitor, script: keyof typeof scripts, given: Json): Promise<Json> =>
  page.evaluate(`(${scripts[script]})(${JSON.stringify(given)})`)

test.skipIf(!chromium)(
  'a browser creates a passkey on http://localhost and logs in with it alone; a copy of the passkey is rejected',
  { timeout: 120_000 },
  async () => {
    const local = await startTestService()
    const browser = await sharedChromium()
    try {
      const url = local.url.replace('127.0.0.1', 'localhost')
      const send = async (path: string, body?: Json, token?: string): Promise<TestResponse<Json>> => {
        const answer = await fetch(`${url}${path}`, {
          method: 'POST',
          headers: {
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await answer.text()
        return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) }
      }
      const alone = async (visitor: Visitor) =>
        send('/auth/passkeys', {
          credential: await inPage(visitor, 'get', (await send('/auth/passkeys/options')).body),
        })
      const { organization } = await newPerson(local)
      const visitor = await visit(browser, url)

      const asked = await send('/v5/me/passkeys/options', undefined, organization.accessToken)
      const credential = await inPage(visitor, 'create', asked.body)
      const added = await send('/v5/me/passkeys', { name: 'Laptop', credential }, organization.accessToken)
      expect(added.status).toBe(201)
      const { credentials } = await visitor.devtools.send('WebAuthn.getCredentials', visitor)
      expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }])

      expect((await alone(visitor)).body).toMatchObject({ status: 'complete', userId: organization.userId })
      expect((await alone(visitor)).body).toMatchObject({ status: 'complete' })

      // The browser itself asks who it is that is there.
      await visitor.devtools.send('WebAuthn.setUserVerified', { ...visitor, isUserVerified: false })
      await expect(alone(visitor)).rejects.toThrow(/NotAllowedError/)
      await visitor.devtools.send('WebAuthn.setUserVerified', { ...visitor, isUserVerified: true })
      // An authenticator that has a passkey of the person does not create a second one.
      const again = await send('/v5/me/passkeys/options', undefined, organization.accessToken)
      await expect(inPage(visitor, 'create', again.body)).rejects.toThrow(/InvalidStateError/)

      // A copy of the new passkey has an older counter.
      const thief = await visit(browser, url)
      const [copied] = credentials
      if (!copied) throw new Error('there is no passkey')
      await thief.devtools.send('WebAuthn.addCredential', { ...thief, credential: copied })
      expectRefusal(await alone(thief), 401, 'invalid_credentials')
      expect((await alone(visitor)).status).toBe(200)
      // A page of another origin has no passkey to sign with, whatever options it got hold of.
      await thief.page.goto(`${url.replace('localhost', 'other.localhost')}/healthz`)
      await expect(alone(thief)).rejects.toThrow(/SecurityError|NotAllowedError/)
    } finally {
      await local.close()
    }
  },
)

import { execFile, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { chromium, launchChromium } from './chromium.ts'
import { until } from './processes.ts'
import { newImport, type TestImport } from './pushes.ts'
import { refusedOnce } from './refused-pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

// Runs the code of docs/guides/senders.md against a service.
const guide = readFileSync(fileURLToPath(new URL('../../docs/guides/senders.md', import.meta.url)), 'utf8')
const placeholder = 'https://crm.example.com/v5/imports/imp_…/trigger/…'

/** The code of a file in the guide, with the URL of an import. */
function codeOf(file: string, url: string): string {
  const [, code] = new RegExp(`^\`\`\`\\w+ ${file.replace('.', '\\.')}\\n(.*?)^\`\`\`$`, 'ms').exec(guide) ?? []
  if (code === undefined) throw new Error(`The guide has no ${file}`)
  return code.replaceAll(placeholder, url)
}

let service: TestService
let organization: TestOrganization
let folder: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  folder = mkdtempSync(join(tmpdir(), 'rapport-senders-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await service.close()
})

const urlOf = ({ path }: TestImport): string => `${service.url}${path}`

const payloadsOf = async ({ importId }: TestImport): Promise<Json[]> => {
  const { body: rows } = await organization.call('GET', `/v5/imports/${importId}/rows?sort=asc`)
  return Promise.all(
    rows.map(
      async ({ id }: Json) => (await organization.call('GET', `/v5/imports/${importId}/rows/${id}`)).body.payload,
    ),
  )
}

const lead = {
  contact: { name: 'Ada Lovelace', email: 'ada@example.com', note: 'Hello,\n"Rapport"' },
  company: { name: 'Engines' },
}

test.skipIf(!chromium)('a page of another origin pushes its form, and shows why a push was refused', async () => {
  const target = await newImport(service, organization)
  let html = codeOf('contact.html', urlOf(target))
  const pages = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html))
  await once(pages.listen(0, '127.0.0.1'), 'listening')
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    const visit = async () => {
      await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`)
      await page.getByLabel('Name').fill(lead.contact.name)
      await page.getByLabel('Email').fill(lead.contact.email)
      await page.getByLabel('Company').fill(lead.company.name)
      await page.getByLabel('Message').fill(lead.contact.note)
      await page.getByRole('button', { name: 'Send' }).click()
    }
    await visit()
    await page.getByText('Thank you.').waitFor()
    expect(await payloadsOf(target)).toEqual([lead])
    html = html.replace('name, email, note', 'email: "nobody", name, note')
    await visit()
    await page.getByText('Your message was not sent: contact.email: expected an email address').waitFor()
    const [refused] = await refusedOnce(organization, target, 1)
    expect(refused.sender).toBe(new URL(page.url()).origin)
  } finally {
    await browser.close()
    pages.close()
  }
})

test('the code step of Zapier pushes its input once, and throws the reason of a refusal', async () => {
  const target = await newImport(service, organization)
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
    ...texts: string[]
  ) => (input: object) => Promise<{ row: string }>
  const step = new AsyncFunction('inputData', codeOf('zapier.js', urlOf(target)))
  const { name, email, note: message } = lead.contact
  const input = { id: 'response-1', name, email, message, company: lead.company.name }
  const [first, again] = [await step(input), await step(input)]
  expect([first.row, again.row]).toEqual([expect.stringMatching(/^row_/), first.row])
  expect(await payloadsOf(target)).toEqual([lead])
  await expect(step({ id: 'response-2', name: 'Nobody' })).rejects.toThrow('contact.email')
})

const tally = {
  eventId: 'e1',
  eventType: 'FORM_RESPONSE',
  data: {
    responseId: 'tally-1',
    fields: [
      { key: 'q1', label: 'Your name', type: 'INPUT_TEXT', value: lead.contact.name },
      { key: 'q2', label: 'Your email', type: 'INPUT_EMAIL', value: lead.contact.email },
      { key: 'q3', label: 'Your company', type: 'INPUT_TEXT', value: lead.company.name },
      { key: 'q4', label: 'Your message', type: 'TEXTAREA', value: lead.contact.note },
      { key: 'q5', label: 'Anything else', type: 'TEXTAREA', value: null },
    ],
  },
}
const typeform = {
  event_type: 'form_response',
  form_response: {
    token: 'typeform-1',
    definition: {
      fields: ['Your name', 'Your email', 'Your company', 'Your message'].map((title, id) => ({ id: `f${id}`, title })),
    },
    answers: [
      { type: 'text', text: lead.contact.name, field: { id: 'f0' } },
      { type: 'email', email: lead.contact.email, field: { id: 'f1' } },
      { type: 'choice', choice: { label: lead.company.name }, field: { id: 'f2' } },
      { type: 'text', text: lead.contact.note, field: { id: 'f3' } },
    ],
  },
}

test('the relay translates Tally and Typeform once, and answers so that they repeat only what may be repeated', async () => {
  const target = await newImport(service, organization)
  const file = join(folder, 'relay.mjs')
  writeFileSync(file, codeOf('relay.mjs', ''))
  const secret = 'signing secret'
  const port = await freePort()
  const env = { ...process.env, TRIGGER_URL: urlOf(target), SIGNING_SECRET: secret, PORT: String(port) }
  const relay = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(relay.stdout, 'data')
    const send = async (
      event: object,
      sign = (text: string) => createHmac('sha256', secret).update(text).digest('base64'),
    ) => {
      const body = JSON.stringify(event)
      const signature: Record<string, string> =
        'form_response' in event ? { 'typeform-signature': `sha256=${sign(body)}` } : { 'tally-signature': sign(body) }
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers: signature })).status
    }
    expect([await send(tally), await send(tally), await send(typeform)]).toEqual([200, 200, 200])
    expect(await payloadsOf(target)).toEqual([lead, lead])
    expect(await send(tally, () => 'forged')).toBe(401)
    // Refused, but stored.
    expect(await send({ data: { responseId: 'tally-2', fields: [] } })).toBe(200)
    await refusedOnce(organization, target, 1)
    await organization.call('POST', `/v5/imports/${target.importId}/disable`)
    expect(await send({ ...tally, data: { ...tally.data, responseId: 'tally-3' } })).toBe(503)
  } finally {
    relay.kill()
  }
})

test.skipIf(!existsSync('/usr/bin/curl'))(
  'the script pushes every file of a folder and sorts them by the answer',
  async () => {
    const target = await newImport(service, organization)
    const outbox = mkdtempSync(join(folder, 'outbox-'))
    const script = join(folder, 'push-outbox.sh')
    writeFileSync(script, codeOf('push-outbox.sh', ''))
    writeFileSync(join(outbox, 'good.json'), JSON.stringify(lead))
    writeFileSync(join(outbox, 'wrong.json'), '{"contact": {}}')
    const run = (url: string) =>
      promisify(execFile)('/bin/sh', [script, outbox], { env: { ...process.env, TRIGGER_URL: url } })
    // Nothing listens there: everything stays.
    await run('http://127.0.0.1:9/')
    expect(
      readdirSync(outbox)
        .filter((name) => name.endsWith('.json'))
        .sort(),
    ).toEqual(['good.json', 'wrong.json'])
    const { stderr } = await run(urlOf(target))
    expect(stderr).toContain('wrong.json: {"code":"invalid_parameters"')
    expect([readdirSync(join(outbox, 'sent')), readdirSync(join(outbox, 'refused'))]).toEqual([
      ['good.json'],
      ['wrong.json'],
    ])
    expect(await payloadsOf(target)).toEqual([lead])
    await until('the refused push is stored', async () => (await refusedOnce(organization, target, 1)).length === 1)
    writeFileSync(join(outbox, 'next.json'), JSON.stringify(lead))
    await expect(run(`${urlOf(target).slice(0, -3)}xyz`)).rejects.toThrow('The URL is invalid')
    expect(existsSync(join(outbox, 'next.json'))).toBe(true)
  },
)

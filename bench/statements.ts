import { createSecretKey, randomBytes } from 'node:crypto'
import pg from 'pg'
import { createIdentifier } from '../server/src/platform/access/identify.ts'
import { createTokens } from '../server/src/platform/access/tokens.ts'
import { Database } from '../server/src/platform/database/database.ts'
import { planPage } from '../server/src/platform/query/page.ts'
import { readList } from '../server/src/platform/query/parse.ts'
import { readPage, readRecord } from '../server/src/platform/resource/read.ts'
import { contacts } from '../server/src/resources/contacts/resource.ts'

/** A statement as the service sends it. */
export interface Statement {
  name?: string
  text: string
  values: unknown[]
}

export interface Statements {
  one: Statement & { idPosition: number }
  page: Statement
}

interface Options {
  connection: pg.ClientConfig
  apiKey: string
  organization: string
  /** The uuid of a contact of that organization. */
  contact: string
}

/** What the service's own code sends for the measured routes, credential and all; it is run once and written down. */
export async function recordStatements({ connection, apiKey, organization, contact }: Options): Promise<Statements> {
  const sent: Statement[] = []
  class Recorder extends pg.Client {
    override query(...given: unknown[]): never {
      const [statement] = given
      if (typeof statement === 'object' && statement !== null && 'text' in statement) sent.push(statement as Statement)
      return Reflect.apply(pg.Client.prototype.query, this, given) as never
    }
  }
  // The pool makes its clients of this class.
  const recording = { ...connection, Client: Recorder } as pg.ClientConfig
  const database = new Database({ connection: recording, size: 1 })
  try {
    // The measured calls come with an API key; no token is looked at.
    const tokens = createTokens({ database, secret: createSecretKey(randomBytes(32)) })
    const identifier = createIdentifier({ database, tokens })
    const credential = await identifier.authenticate(`Bearer ${apiKey}`)
    const caller = await identifier.selectOrganization(credential, organization)
    const reader = database.reader(caller)
    const lastSent = (): Statement => {
      const last = sent.at(-1)
      if (!last) throw new Error('the service’s code sent nothing')
      return { ...(last.name !== undefined && { name: last.name }), text: last.text, values: last.values }
    }
    await readRecord(reader, contacts, contact)
    const one = lastSent()
    // Whom cursors belong to does not matter on a first page, which has none.
    const list = readList(contacts, [], (orderBy) => ({
      key: randomBytes(32),
      organizationId: reader.organizationId,
      list: contacts.component,
      orderBy,
    }))
    await readPage(reader, contacts, planPage(contacts, list, { organization: reader.organization }), undefined)
    return { one: { ...one, idPosition: one.values.indexOf(contact) }, page: lastSent() }
  } finally {
    await database.close()
  }
}

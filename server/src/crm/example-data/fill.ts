import type { Transaction } from '../../platform/database/database.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { bodyShape, parseBody } from '../../platform/records/request/body.ts'
import type { StandardStore } from '../../platform/records/write/store.ts'
import { members } from '../../identity/members/resource.ts'
import { companyStore } from '../companies/store.ts'
import { contactStore } from '../contacts/store.ts'
import { dealStore } from '../deals/store.ts'
import { allNoteStore } from '../notes/store.ts'
import { taskStore } from '../tasks/store.ts'
import { companies, contacts, deals, exampleTag, notes, tasks } from './content.ts'
import type { Language } from '../../platform/model/languages.ts'
import { findOpenStages, findTaken, type Kind, storeExamples } from './store.ts'
import type { Change } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const stores: Readonly<Record<Kind, StandardStore>> = {
  companies: companyStore,
  contacts: contactStore,
  deals: dealStore,
  tasks: taskStore,
  notes: allNoteStore,
}

/** Creates the example data, a set of each kind, in the order in which they refer to each other. */
export async function fill(transaction: Transaction, language: Language): Promise<void> {
  const today = Date.now()
  const dayAfter = (days: number) => new Date(today + days * 86_400_000).toISOString().slice(0, 10)
  const tags = [exampleTag[language]]
  const { userId } = transaction.actor
  const ownerId = userId === null ? null : encodeId(members.idPrefix, userId)
  const create = async (kind: Kind, changes: readonly Change[]): Promise<void> => {
    const store = stores[kind]
    await storeExamples(
      transaction,
      kind,
      store.resource,
      await store.write(transaction, changes, { mayLackRequired: true }),
    )
  }
  const companyIds = companies.map(newId)
  const contactIds = contacts.map(newId)
  const emails = contacts.map(({ firstName, lastName, company }) =>
    addressOf(firstName, lastName, companies[company]?.domain ?? ''),
  )
  const [takenDomains, takenEmails] = await Promise.all([
    findTaken(
      transaction,
      'companies',
      companies.map(({ domain }) => domain),
    ),
    findTaken(transaction, 'contacts', emails),
  ])
  await create(
    'companies',
    companies.map(({ name, domain, industry, employees, city, country }, index) =>
      created(companyStore.resource, companyIds[index], {
        ...{ name, tags, domain: takenDomains.has(domain) ? null : domain },
        location: city,
        website: `https://${domain}`,
        city,
        countryCode: country,
        industries: [industry[language]],
        employeesCount: employees,
      }),
    ),
  )
  await create(
    'contacts',
    contacts.map(({ firstName, lastName, title, company }, index) =>
      created(contactStore.resource, contactIds[index], {
        ...{ firstName, lastName, tags, ownerId },
        email: takenEmails.has(emails[index] ?? '') ? null : (emails[index] ?? null),
        employmentTitle: title[language],
        companyId: encodeId('com', companyIds[company] ?? ''),
        city: companies[company]?.city ?? null,
        countryCode: companies[company]?.country ?? null,
      }),
    ),
  )
  const stages = await findOpenStages(transaction)
  // An organization can have deleted its pipelines.
  if (stages.length > 0) {
    const stageAt = (share: number) => stages[Math.floor(share * stages.length)] ?? ''
    await create(
      'deals',
      deals.map(({ name, company, amount, stage, days }) =>
        created(dealStore.resource, newId(), {
          ...{ amount, ownerId },
          name: name[language],
          companyId: encodeId('com', companyIds[company] ?? ''),
          stageId: encodeId('stg', stageAt(stage)),
          expectedCloseDate: dayAfter(days),
        }),
      ),
    )
  }
  await create(
    'tasks',
    tasks.map(({ title, contact, days, priority }) =>
      created(taskStore.resource, newId(), {
        priority,
        title: title[language],
        dueDate: dayAfter(days),
        contactId: encodeId('con', contactIds[contact] ?? ''),
      }),
    ),
  )
  await create(
    'notes',
    notes.map(({ contact, text }) => ({
      ...created(allNoteStore.resource, newId(), { body: text[language] }),
      columns: { contact_id: contactIds[contact] ?? '' },
    })),
  )
}

const created = (resource: Resource, id: string | undefined, values: JsonObject) => ({
  kind: 'create' as const,
  ...(id !== undefined && { id }),
  values: parseBody(bodyShape(resource, 'create'), values),
})

const addressOf = (first: string, last: string, domain: string): string =>
  `${first}.${last}@${domain}`.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')

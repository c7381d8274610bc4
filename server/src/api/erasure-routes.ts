import { contacts } from '../crm/contacts/resource.ts'
import { contactStore } from '../crm/contacts/store.ts'
import type { Part } from '../platform/http/part.ts'
import { writeRoute } from '../platform/http/route.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { RouteGroup } from '../platform/records/routes/standard-routes.ts'
import { eraseContact } from './erase-contact.ts'
import { contactRemoval } from './contact-removal.ts'

const group = new RouteGroup(contactStore, '/v5/contacts')

/** A noun of its own, because the scope of a member for contacts would include it. */
export const erasureScope = 'contact-erasure:create:write'

/** `resources`: those whose records belong to contacts are among them. */
export const erasurePart = (resources: () => readonly Resource[]): Part => ({
  routes: [
    writeRoute({
      ...group.changeRoute('erase'),
      scope: erasureScope,
      supportsIfMatch: false,
      summary: 'Erase a contact',
      description: `Deletes a person for good, at once: the contact, also if it is deleted already, with its notes, tasks, jobs and suggestions, what imports have received about it, and the values in past events. Deals and companies stay. Nothing can be restored. The feed reports \`${contacts.singular}.erased\` when everything is gone: with the response or, if there is very much, some minutes later.`,
      audited: 'contact.erased',
      responses: { 204: { kind: 'none' } },
      async handle({ db, params }) {
        await eraseContact(db, contactRemoval(resources()), group.id(params))
        return { status: 204 }
      },
    }),
  ],
  roleGroups: { 'contact-erasure': 'administration' },
})

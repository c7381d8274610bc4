import { roles } from '../../platform/access/scopes.ts'
import { defineResource } from '../../platform/resource/define.ts'
import { choice, email, id, text, timestamp } from '../../platform/resource/fields.ts'

/** The person behind a member: what their organizations see of the account. */
const people = defineResource({
  name: 'people',
  singular: 'person',
  component: 'Person',
  table: 'member_people',
  idPrefix: 'usr',
  fields: {
    id: id('usr'),
    name: text({ label: 'Name', readOnly: true, nullable: false }),
    email: email({ label: 'Email', readOnly: true, nullable: false }),
  },
})

/** How a person is shown within a record whose id is the person's. */
export const person = {
  label: 'Person',
  through: 'id',
  resource: people,
  show: ['name', 'email'],
  orderBy: 'name',
  always: true,
} as const

/** A person in an organization. The id is the person's, the same in each of their organizations. */
export const members = defineResource({
  name: 'members',
  singular: 'member',
  component: 'Member',
  idPrefix: 'usr',
  softDelete: false,
  hidden: { user_id: 'uuid' },
  embedded: { person },
  fields: {
    id: id('usr'),
    role: choice(roles, {
      label: 'Role',
      description:
        'What the member may do: an `owner` everything, an `admin` everything but what is about owners and single sign-on, a `member` works with records, a `viewer` reads them',
      required: true,
    }),
    createdAt: timestamp({ label: 'Member since', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

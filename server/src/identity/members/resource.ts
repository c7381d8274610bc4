import { memberRoles } from '../../platform/model/scopes.ts'
import { prepareRole, roleId } from '../access/role-fields.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, email, id, text, timestamp } from '../../platform/records/declare/fields.ts'
import { emailKey } from '../../platform/model/normalizers.ts'

/** The person behind a member: the parts of the account that their organizations can see. */
const people = defineResource({
  name: 'people',
  singular: 'person',
  component: 'Person',
  table: 'member_people',
  idPrefix: 'usr',
  roleGroup: 'visible',
  fields: {
    id: id('usr'),
    name: text({ label: 'Name', readOnly: true, nullable: false }),
    email: email({
      label: 'Email',
      readOnly: true,
      nullable: false,
      lookup: { column: 'email_key', key: emailKey },
    }),
  },
})

/** The person embedded in a record that has the person's id. */
export const person = {
  label: 'Person',
  through: 'id',
  resource: people,
  show: ['name', 'email'],
  orderBy: 'name',
  always: true,
} as const

/** A person in an organization. It has the person's id, the same in each of their organizations. */
export const members = defineResource({
  name: 'members',
  singular: 'member',
  component: 'Member',
  isInDirectory: true,
  idPrefix: 'usr',
  heading: 'The people of an organization and their roles.',
  roleGroup: 'visible',
  titleField: 'person.name',
  searchedWhenRead: ['person.name', 'person.email', 'role'],
  softDelete: false,
  hidden: { user_id: 'uuid' },
  prepare: prepareRole,
  embedded: { person },
  fields: {
    id: id('usr'),
    role: choice(memberRoles, {
      label: 'Role',
      description:
        'Role of the member: `owner` can do everything, `admin` everything except owners and single sign-on, `member` can read and write records, `viewer` can only read them; `custom` is the role of `roleId`',
      required: true,
    }),
    roleId,
    createdAt: timestamp({ label: 'Member since', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

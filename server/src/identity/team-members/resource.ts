import { defineResource } from '../../platform/records/declare/define.ts'
import { id, timestamp } from '../../platform/records/declare/fields.ts'
import { person } from '../members/resource.ts'
import { teams } from '../teams/resource.ts'

/** A member of a team. It has the person's id. */
export const teamMembers = defineResource({
  name: 'team-members',
  singular: 'team-member',
  component: 'TeamMember',
  table: 'team_members',
  isInDirectory: true,
  idPrefix: 'usr',
  roleGroup: 'visible',
  titleField: 'person.name',
  searchedWhenRead: ['person.name', 'person.email'],
  softDelete: false,
  parent: { parameter: 'teamId', resource: teams, column: 'team_id', isSmall: true },
  embedded: { person },
  hidden: { team_deleted: 'boolean' },
  fields: {
    id: id('usr'),
    createdAt: timestamp({ label: 'Joined the team at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})

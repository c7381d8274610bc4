import { Box, Building2, Handshake, ListTodo, type LucideIcon, Megaphone, UserRound } from 'lucide-react'

/** How the application shows a resource. Everything else is derived from `GET /v5/schema`. */
interface ResourceView {
  /** The default is a box. */
  icon?: LucideIcon
  /** The second key of the shortcut `g …`. */
  shortcut?: string
  /** The default columns of the list; without them, the first fields of the resource. */
  columns?: readonly string[]
  /** The width of the column with the title. */
  titleWidth?: number
  /** The second line of its cards on phones; without it, its subtitle and its addresses. */
  card?: readonly string[]
  /** The fields of the form for a new record at first; without it, the first columns. */
  form?: readonly string[]
  /** Internal fields, which are hidden. */
  hidden?: readonly string[]
  /** The resource has a board (boards.ts) for each value of this property: for deals, one per pipeline. */
  boardOf?: string
  /** The field whose values are the columns of the board. */
  groupedBy?: string
  /** Fields that forms show together, with the label of the field that follows from them. */
  group?: { label: string; fields: readonly string[]; shown: string }
  /** A flag that one click, or Enter in its cell, toggles in the list. */
  toggle?: string
  /** Fields that cells of other columns show or edit. */
  needs?: readonly string[]
  /** Square avatars for things, round ones for people. */
  isPerson?: boolean
}

const address = {
  label: 'Address',
  fields: ['street', 'postalCode', 'city', 'state', 'countryCode'],
  shown: 'formattedAddress',
}

/** The resources with a list and record pages, in the order of the sidebar. */
export const resourceViews: Readonly<Record<string, ResourceView>> = {
  contacts: {
    icon: UserRound,
    shortcut: 'c',
    isPerson: true,
    group: address,
    columns: ['name', 'company', 'email', 'employmentTitle', 'status', 'tags', 'phone', 'countryCode', 'createdAt'],
  },
  companies: {
    icon: Building2,
    shortcut: 'o',
    card: ['domain'],
    group: address,
    columns: ['name', 'domain', 'industries', 'employeesCount', 'location', 'tags', 'lastActivityAt', 'createdAt'],
  },
  deals: {
    icon: Handshake,
    shortcut: 'd',
    columns: ['name', 'stage', 'amount', 'company', 'ownerId', 'expectedCloseDate', 'lastActivityAt', 'createdAt'],
    form: ['name', 'amount', 'currency', 'stage', 'company', 'ownerId', 'expectedCloseDate'],
    hidden: ['position'],
    boardOf: 'pipeline',
    groupedBy: 'stageId',
  },
  tasks: {
    icon: ListTodo,
    shortcut: 't',
    toggle: 'done',
    needs: ['dueDate', 'dueAt'],
    titleWidth: 300,
    columns: ['title', 'done', 'deadline', 'overdue', 'assigneeId', 'priority', 'contactId', 'companyId', 'dealId'],
  },
  campaigns: { icon: Megaphone, shortcut: 'm', columns: ['name', 'subject', 'status', 'tags', 'updatedAt'] },
}

/** The icon of a resource. */
export const resourceIcon = (name: string): LucideIcon => resourceViews[name]?.icon ?? Box

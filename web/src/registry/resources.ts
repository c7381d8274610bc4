import { Box, Building2, Handshake, ListTodo, type LucideIcon, Megaphone, UserRound } from 'lucide-react'

/** How the application shows a resource. Everything else follows from `GET /v5/schema`. */
interface ResourceView {
  /** Without it, a box. */
  icon?: LucideIcon
  /** The second key of `g …`. */
  shortcut?: string
  /** The columns of the list at first; without it, the first fields of the resource. */
  columns?: readonly string[]
  /** The width of the column with the title. */
  titleWidth?: number
  /** The second line of its cards on phones; without it, its subtitle and its addresses. */
  card?: readonly string[]
  /** The fields of the form for a new record at first; without it, the first columns. */
  form?: readonly string[]
  /** Fields that say nothing to people. */
  hidden?: readonly string[]
  /** It has a board (boards.ts) for each value of this property: deals have one for each pipeline. */
  boardOf?: string
  /** The field whose values are the columns of its boards. */
  groupedBy?: string
  /** A flag that one click, or Enter in its cell, changes in the list. */
  toggle?: string
  /** Things have square avatars, people round ones. */
  isPerson?: boolean
}

/** The resources with a list and record pages, in the order of the sidebar: one line each. */
export const resourceViews: Readonly<Record<string, ResourceView>> = {
  contacts: {
    icon: UserRound,
    shortcut: 'c',
    isPerson: true,
    columns: ['name', 'company', 'email', 'employmentTitle', 'status', 'tags', 'phone', 'countryCode', 'createdAt'],
  },
  companies: {
    icon: Building2,
    shortcut: 'o',
    card: ['domain'],
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
    titleWidth: 300,
    columns: ['title', 'done', 'deadline', 'overdue', 'assigneeId', 'priority', 'contactId', 'companyId', 'dealId'],
  },
  campaigns: { icon: Megaphone, shortcut: 'm', columns: ['name', 'subject', 'status', 'tags', 'updatedAt'] },
}

/** The icon of a resource wherever it is named. */
export const resourceIcon = (name: string): LucideIcon => resourceViews[name]?.icon ?? Box

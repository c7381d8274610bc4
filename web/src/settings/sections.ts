import {
  Building2,
  KeyRound,
  Lightbulb,
  type LucideIcon,
  Mail,
  MailPlus,
  ScrollText,
  Server,
  ShieldCheck,
  SlidersHorizontal,
  SquareKanban,
  UserRound,
  UserRoundCog,
  UsersRound,
  Webhook,
} from 'lucide-react'
import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'
import { unlessTroubled } from '../api/connection.ts'
import { queryClient } from '../api/query-client.ts'
import { loadSettingsMessages } from '../messages/messages.ts'
import { currentLanguage } from '../preferences/locale.ts'
import { scopesQuery, useMay } from '../api/permissions.ts'

export interface Section {
  /** The last segment of its path: `/settings/<name>`. */
  name: string
  /** The key of its messages, which include its `title`. */
  messages:
    | 'organization'
    | 'members'
    | 'invitations'
    | 'teams'
    | 'customRoles'
    | 'pipelines'
    | 'nextActions'
    | 'properties'
    | 'apiKeys'
    | 'webhooks'
    | 'sso'
    | 'audit'
    | 'outbox'
    | 'system'
  icon: LucideIcon
  /** The permissions needed to see it. */
  needs: string
  Page: AsyncRouteComponent<object>
}

/** In display order. */
export const allSections: readonly Section[] = [
  {
    name: 'organization',
    messages: 'organization',
    icon: Building2,
    needs: 'organization:get:read',
    Page: lazyRouteComponent(() => import('./organization.tsx'), 'OrganizationSettings'),
  },
  {
    name: 'members',
    messages: 'members',
    icon: UserRound,
    needs: 'member:list:read',
    Page: lazyRouteComponent(() => import('./members.tsx'), 'Members'),
  },
  {
    name: 'invitations',
    messages: 'invitations',
    icon: MailPlus,
    needs: 'invitation:create:write',
    Page: lazyRouteComponent(() => import('./invitations.tsx'), 'Invitations'),
  },
  {
    name: 'teams',
    messages: 'teams',
    icon: UsersRound,
    needs: 'team:list:read',
    Page: lazyRouteComponent(() => import('./teams.tsx'), 'Teams'),
  },
  {
    name: 'roles',
    messages: 'customRoles',
    icon: UserRoundCog,
    needs: 'role:list:read',
    Page: lazyRouteComponent(() => import('./roles.tsx'), 'Roles'),
  },
  {
    name: 'pipelines',
    messages: 'pipelines',
    icon: SquareKanban,
    needs: 'pipeline:update:write',
    Page: lazyRouteComponent(() => import('./pipelines.tsx'), 'Pipelines'),
  },
  {
    name: 'properties',
    messages: 'properties',
    icon: SlidersHorizontal,
    needs: 'property:list:read',
    Page: lazyRouteComponent(() => import('./properties/properties.tsx'), 'Properties'),
  },
  {
    name: 'next-actions',
    messages: 'nextActions',
    icon: Lightbulb,
    // Only for people who configure how others work, although everyone may read the statistics.
    needs: 'pipeline:update:write',
    Page: lazyRouteComponent(() => import('./next-actions.tsx'), 'NextActions'),
  },
  {
    name: 'api-keys',
    messages: 'apiKeys',
    icon: KeyRound,
    needs: 'api-key:list:read',
    Page: lazyRouteComponent(() => import('./api-keys.tsx'), 'ApiKeys'),
  },
  {
    name: 'webhooks',
    messages: 'webhooks',
    icon: Webhook,
    needs: 'webhook:list:read',
    Page: lazyRouteComponent(() => import('./webhooks/webhooks.tsx'), 'Webhooks'),
  },
  {
    name: 'single-sign-on',
    messages: 'sso',
    icon: ShieldCheck,
    needs: 'sso-connection:list:read',
    Page: lazyRouteComponent(() => import('./single-sign-on.tsx'), 'SingleSignOn'),
  },
  {
    name: 'audit-log',
    messages: 'audit',
    icon: ScrollText,
    needs: 'audit-event:list:read',
    Page: lazyRouteComponent(() => import('./audit-log.tsx'), 'AuditLog'),
  },
  {
    name: 'outbox',
    messages: 'outbox',
    icon: Mail,
    needs: 'mail:list:read',
    Page: lazyRouteComponent(() => import('./outbox.tsx'), 'Outbox'),
  },
  {
    name: 'system',
    messages: 'system',
    icon: Server,
    needs: 'system:get:read',
    Page: lazyRouteComponent(() => import('./system.tsx'), 'System'),
  },
]

/** Loads what a section needs before it is shown, so that it appears at once and complete. */
export const preloadSection = (name: string | undefined): Promise<unknown> =>
  Promise.all([
    loadSettingsMessages(currentLanguage()),
    unlessTroubled(queryClient.ensureQueryData(scopesQuery)),
    allSections.find((section) => section.name === name)?.Page.preload?.(),
  ])

/** The sections that the person's role can use. */
export function useSections(): readonly Section[] {
  const may = useMay()
  return allSections.filter(({ needs }) => may(needs))
}

import {
  Building2,
  KeyRound,
  type LucideIcon,
  Mail,
  MailPlus,
  ScrollText,
  Server,
  ShieldCheck,
  UserRound,
  UsersRound,
} from 'lucide-react'
import { type ComponentType, lazy } from 'react'
import { useMay } from './permissions.ts'

export interface Section {
  /** Its address: `/settings/<name>`. */
  name: string
  /** Key of its messages, which include its `title`. */
  messages: 'organization' | 'members' | 'invitations' | 'teams' | 'apiKeys' | 'sso' | 'audit' | 'outbox' | 'system'
  icon: LucideIcon
  /** What a person must be allowed to do to see it. */
  needs: string
  Page: ComponentType
}

/** In the order of their list. */
export const allSections: readonly Section[] = [
  {
    name: 'organization',
    messages: 'organization',
    icon: Building2,
    needs: 'organization:get:read',
    Page: lazy(async () => ({ default: (await import('./organization.tsx')).OrganizationSettings })),
  },
  {
    name: 'members',
    messages: 'members',
    icon: UserRound,
    needs: 'member:list:read',
    Page: lazy(async () => ({ default: (await import('./members.tsx')).Members })),
  },
  {
    name: 'invitations',
    messages: 'invitations',
    icon: MailPlus,
    needs: 'invitation:create:write',
    Page: lazy(async () => ({ default: (await import('./invitations.tsx')).Invitations })),
  },
  {
    name: 'teams',
    messages: 'teams',
    icon: UsersRound,
    needs: 'team:list:read',
    Page: lazy(async () => ({ default: (await import('./teams.tsx')).Teams })),
  },
  {
    name: 'api-keys',
    messages: 'apiKeys',
    icon: KeyRound,
    needs: 'api-key:list:read',
    Page: lazy(async () => ({ default: (await import('./api-keys.tsx')).ApiKeys })),
  },
  {
    name: 'single-sign-on',
    messages: 'sso',
    icon: ShieldCheck,
    needs: 'sso-connection:list:read',
    Page: lazy(async () => ({ default: (await import('./single-sign-on.tsx')).SingleSignOn })),
  },
  {
    name: 'audit-log',
    messages: 'audit',
    icon: ScrollText,
    needs: 'audit-event:list:read',
    Page: lazy(async () => ({ default: (await import('./audit-log.tsx')).AuditLog })),
  },
  {
    name: 'outbox',
    messages: 'outbox',
    icon: Mail,
    needs: 'mail:list:read',
    Page: lazy(async () => ({ default: (await import('./outbox.tsx')).Outbox })),
  },
  {
    name: 'system',
    messages: 'system',
    icon: Server,
    needs: 'system:get:read',
    Page: lazy(async () => ({ default: (await import('./system.tsx')).System })),
  },
]

/** The sections that the person's role can use. */
export function useSections(): readonly Section[] {
  const may = useMay()
  return allSections.filter(({ needs }) => may(needs))
}

import { useQuery } from '@tanstack/react-query'
import { Check, ChevronDown } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { useRole } from '../api/me.ts'
import { Button } from '../ui/button.tsx'
import type { Option } from '../ui/field.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { useMay } from '../api/permissions.ts'
import { type CustomRole, type Member, type Role, roles } from './records.ts'

/** The role of a member or an invitation. */
type HeldRole = Pick<Member, 'role' | 'roleId'>

/** A role as an option: the name of a built-in role, or the id of a custom one. */
const valueOf = ({ role, roleId }: HeldRole): string => roleId ?? role

/** The request fields that assign the chosen role. */
export const roleOfChoice = (value: string): Partial<HeldRole> =>
  value.startsWith('rol_') ? { role: 'custom', roleId: value } : { role: value as Role }

/** The custom roles; none if the person may not see them. */
function useCustomRoles(): readonly CustomRole[] {
  const may = useMay()
  const { data } = useQuery({
    queryKey: ['roles', 'choices'],
    queryFn: async () => {
      const query = new URLSearchParams({ limit: '100', orderBy: 'name', sort: 'asc' })
      return (await send<CustomRole[]>('GET', '/v5/roles', { query })).body
    },
    enabled: may('role:list:read'),
  })
  return data ?? []
}

/** The roles that the person can assign: only owners assign owner, and people with a custom role assign custom ones. */
export function useRoleOptions(): Option[] {
  const t = useTranslations('settings.roles')
  const own = useRole()
  const custom = useCustomRoles()
  const builtIn = own === 'custom' ? [] : roles.filter((role) => role !== 'owner' || own === 'owner')
  return [
    ...builtIn.map((value) => ({ value, label: t(value) })),
    ...custom.map(({ id, name }) => ({ value: id, label: name })),
  ]
}

/** The display name of the role of a member or an invitation. */
export function useRoleName(): (held: HeldRole) => string {
  const t = useTranslations('settings.roles')
  const custom = useCustomRoles()
  return ({ role, roleId }) => custom.find(({ id }) => id === roleId)?.name ?? t(role)
}

interface RoleMenuProps {
  /** The person or the invitation with the role. */
  name: string
  role: HeldRole
  onChange(choice: Option): void
}

/** A person's role, and a menu to choose another one. */
export function RoleMenu({ name, role, onChange }: RoleMenuProps) {
  const t = useTranslations('settings')
  const options = useRoleOptions()
  const roleName = useRoleName()(role)
  const current = valueOf(role)
  return (
    <Menu
      trigger={
        <Button kind="quiet" aria-label={t('members.roleOf', { name, role: roleName })}>
          {roleName}
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      {options.map((option) => (
        <MenuItem
          key={option.value}
          {...(option.value === current && { icon: Check })}
          disabled={option.value === current}
          onSelect={() => onChange(option)}
        >
          {option.label}
        </MenuItem>
      ))}
    </Menu>
  )
}

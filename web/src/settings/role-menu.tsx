import { Check, ChevronDown } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useRole } from '../api/me.ts'
import { Button } from '../ui/button.tsx'
import type { Option } from '../ui/field.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { type Role, roles } from './records.ts'

/** The roles that the person can give: only owners make owners. */
export function useRoleOptions(): (Option & { value: Role })[] {
  const t = useTranslations('settings.roles')
  const isOwner = useRole() === 'owner'
  return roles.filter((role) => role !== 'owner' || isOwner).map((value) => ({ value, label: t(value) }))
}

interface RoleMenuProps {
  /** Whose role it is. */
  name: string
  role: Role
  onChange(role: Role): void
}

/** A person's role, and a menu to choose another one. */
export function RoleMenu({ name, role, onChange }: RoleMenuProps) {
  const t = useTranslations('settings')
  const options = useRoleOptions()
  return (
    <Menu
      trigger={
        <Button kind="quiet" aria-label={t('members.roleOf', { name, role: t(`roles.${role}`) })}>
          {t(`roles.${role}`)}
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      {options.map(({ value, label }) => (
        <MenuItem
          key={value}
          {...(value === role && { icon: Check })}
          disabled={value === role}
          onSelect={() => onChange(value)}
        >
          {label}
        </MenuItem>
      ))}
    </Menu>
  )
}

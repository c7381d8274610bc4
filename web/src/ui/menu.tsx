import { Menu as Base } from '@base-ui/react/menu'
import type { LucideIcon } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { classes } from './classes.ts'
import { Keys } from './keys.tsx'
import styles from './popup.module.css'

/** A menu that opens from `trigger`, which must be a button. */
export function Menu({ trigger, children }: { trigger: ReactElement; children: ReactNode }) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="start" className={styles.positioner}>
          <Base.Popup className={styles.popup}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

interface MenuItemProps {
  icon?: LucideIcon
  shortcut?: string
  isDanger?: boolean
  disabled?: boolean
  onSelect(): void
  children: ReactNode
}

export function MenuItem({ icon: Icon, shortcut, isDanger, disabled = false, onSelect, children }: MenuItemProps) {
  return (
    <Base.Item className={classes(styles.item, isDanger && styles.danger)} disabled={disabled} onClick={onSelect}>
      {Icon && <Icon size={15} strokeWidth={1.75} aria-hidden />}
      <span className={styles.grow}>{children}</span>
      {shortcut !== undefined && <Keys keys={shortcut} />}
    </Base.Item>
  )
}

export const MenuSeparator = () => <Base.Separator className={styles.separator} />

import { Menu as Base } from '@base-ui/react/menu'
import type { LucideIcon } from 'lucide-react'
import { type ReactElement, type ReactNode, useEffect } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from './classes.ts'
import { Keys } from './keys.tsx'
import styles from './popup.module.css'

interface MenuProps {
  /** The button that opens the menu; if undefined, the menu is open while mounted, next to `anchor`. */
  trigger?: ReactElement
  anchor?: Element
  onClose?(): void
  children: ReactNode
}

/** A menu of actions. Many rows can share one, which is cheaper than one each. */
export function Menu({ trigger, anchor, onClose, children }: MenuProps) {
  const t = useTranslations('common')
  return (
    <Base.Root modal={false} {...(anchor && { open: true, onOpenChange: (isOpen) => !isOpen && onClose?.() })}>
      {trigger && <Base.Trigger render={trigger} />}
      {/* A landmark, because it is outside of the page's landmarks. */}
      <Base.Portal role="region" aria-label={t('menu')}>
        <Base.Positioner sideOffset={4} align="start" anchor={anchor} className={styles.positioner}>
          <Base.Popup className={styles.popup}>
            {children}
            <FocusGuards />
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

/**
 * Base UI adds focus guards at the ends of a popup. Focusable elements must not be hidden from assistive technology.
 */
function FocusGuards() {
  useEffect(() => {
    // Some guards are rendered after the content.
    const frame = requestAnimationFrame(() => {
      for (const guard of document.querySelectorAll('[data-base-ui-focus-guard]')) guard.removeAttribute('aria-hidden')
    })
    return () => cancelAnimationFrame(frame)
  }, [])
  return null
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

/** Opens another page in a new tab. */
export const MenuLink = ({ icon: Icon, href, children }: { icon: LucideIcon; href: string; children: ReactNode }) => (
  <Base.Item
    className={styles.item}
    render={
      <a href={href} target="_blank" rel="noreferrer">
        <Icon size={15} strokeWidth={1.75} aria-hidden />
        <span className={styles.grow}>{children}</span>
      </a>
    }
  />
)

/** The heading of the items below. */
export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <div className={styles.menuLabel} role="presentation">
    {children}
  </div>
)

export const MenuSeparator = () => <Base.Separator className={styles.separator} />

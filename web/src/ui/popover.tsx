import { Popover as Base } from '@base-ui/react/popover'
import type { ReactElement, ReactNode } from 'react'
import { hasEnded } from '../api/session-end.ts'
import { classes } from './classes.ts'
import styles from './popup.module.css'

interface PopoverProps {
  /** Its name for assistive technology. */
  label: string
  /** The button that opens it; undefined if something else does, with `anchor`. */
  trigger?: ReactElement
  anchor?: Element | null
  isOpen?: boolean
  onOpenChange?(isOpen: boolean): void
  align?: 'start' | 'end'
  /** The focus stays where it is, for suggestions below an input. */
  isPassive?: boolean
  children: ReactNode
}

/** The log-in dialog takes the focus from the popover below it, which stays open. */
export const unlessEnded = (change: (isOpen: boolean) => void) => (isOpen: boolean) => {
  if (isOpen || !hasEnded()) change(isOpen)
}

/** Content that floats next to a button. Escape and a click outside close it; the focus returns to the button. */
export function Popover({
  label,
  trigger,
  anchor,
  isOpen,
  onOpenChange,
  align = 'start',
  isPassive,
  children,
}: PopoverProps) {
  return (
    <Base.Root
      {...(isOpen !== undefined && { open: isOpen })}
      {...(onOpenChange && { onOpenChange: unlessEnded(onOpenChange) })}
    >
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Positioner sideOffset={4} align={align} anchor={anchor ?? undefined} className={styles.positioner}>
          <Base.Popup
            aria-label={label}
            {...(isPassive && { initialFocus: false, finalFocus: false })}
            className={classes(styles.popup, styles.padded)}
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

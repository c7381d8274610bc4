import { Tooltip } from '@base-ui/react/tooltip'
import type { ReactElement } from 'react'
import { Keys } from './keys.tsx'
import styles from './popup.module.css'

/** A tooltip for a control that already has an accessible name. Appears on hover and on focus. */
export function Tip({
  label,
  shortcut,
  children,
}: {
  label: string
  shortcut?: string | undefined
  children: ReactElement
}) {
  return (
    // Escape also closes the surrounding dialog, which shows its first button's tooltip when it opens.
    <Tooltip.Root onOpenChange={(_isOpen, details) => details.reason === 'escape-key' && details.allowPropagation()}>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className={styles.positioner}>
          {/* The control's accessible name says the same. */}
          <Tooltip.Popup className={styles.tip} aria-hidden>
            {label}
            {shortcut !== undefined && <Keys keys={shortcut} />}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

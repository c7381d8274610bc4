import { Tooltip } from '@base-ui/react/tooltip'
import type { ReactElement } from 'react'
import { Keys } from './keys.tsx'
import styles from './popup.module.css'

/** A tooltip for a control that already has an accessible name; it shows on hover and on focus. */
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
    // Escape also closes the dialog around it, which shows the tooltip of its first button when it opens.
    <Tooltip.Root onOpenChange={(_isOpen, details) => details.reason === 'escape-key' && details.allowPropagation()}>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className={styles.positioner}>
          {/* The name of the control says the same. */}
          <Tooltip.Popup className={styles.tip} aria-hidden>
            {label}
            {shortcut !== undefined && <Keys keys={shortcut} />}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

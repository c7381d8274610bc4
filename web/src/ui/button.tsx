import type { LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { classes } from './classes.ts'
import styles from './button.module.css'
import { Tip } from './tip.tsx'

export type ButtonKind = 'primary' | 'default' | 'quiet' | 'danger'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'style'> {
  kind?: ButtonKind
  icon?: LucideIcon
  /** True while its action runs: it cannot be pressed again. */
  isBusy?: boolean
  isWide?: boolean
}

/** A button with a text. It submits a form only with `type="submit"`. */
export function Button({ kind = 'default', icon: Icon, isBusy = false, isWide, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(styles.button, styles[kind], isWide && styles.wide)}
      disabled={rest.disabled === true || isBusy}
      aria-busy={isBusy || undefined}
    >
      {Icon && <Icon size={15} strokeWidth={1.75} aria-hidden />}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon' | 'isWide'> {
  icon: LucideIcon
  /** Its name for assistive technology, and its tooltip. */
  label: string
  /** A keyboard shortcut, shown in the tooltip. */
  shortcut?: string
}

/** A button with an icon only. */
export function IconButton({ kind = 'quiet', icon: Icon, label, shortcut, isBusy = false, ...rest }: IconButtonProps) {
  return (
    <Tip label={label} shortcut={shortcut}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={classes(styles.button, styles[kind], styles.icon)}
        disabled={rest.disabled === true || isBusy}
      >
        <Icon size={16} strokeWidth={1.75} aria-hidden />
      </button>
    </Tip>
  )
}

/** The classes of a button, for links that look like one. */
export const buttonClasses = (kind: ButtonKind = 'default', isWide = false): string =>
  classes(styles.button, styles[kind], isWide && styles.wide)

import type { LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { classes } from './classes.ts'
import styles from './button.module.css'
import { Tip } from './tip.tsx'

export type ButtonKind = 'primary' | 'default' | 'quiet' | 'danger'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'style'> {
  kind?: ButtonKind
  icon?: LucideIcon
  /** True while its action runs; it cannot be pressed again. */
  isBusy?: boolean
  isWide?: boolean
}

/** `aria-disabled` keeps the focus, which a disabled button would lose. */
const busy: ComponentProps<'button'> = {
  'aria-disabled': true,
  'aria-busy': true,
  onClick: (event) => event.preventDefault(),
}

/** A button with a text. Submits a form only with `type="submit"`. */
export function Button({ kind = 'default', icon: Icon, isBusy = false, isWide, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...(isBusy && busy)}
      className={classes(styles.button, styles[kind], isWide && styles.wide)}
    >
      {Icon && <Icon size={15} strokeWidth={1.75} aria-hidden />}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon' | 'isWide'> {
  icon: LucideIcon
  /** The accessible name and the tooltip. */
  label: string
  /** A keyboard shortcut, shown in the tooltip. */
  shortcut?: string
  /** False if there are many of them, because each tooltip takes time to render. */
  hasTip?: boolean
}

/** A button with only an icon. */
export function IconButton({
  kind = 'quiet',
  icon: Icon,
  label,
  shortcut,
  hasTip = true,
  isBusy = false,
  ...rest
}: IconButtonProps) {
  const button = (
    <button
      type="button"
      {...rest}
      aria-label={label}
      className={classes(styles.button, styles[kind], styles.icon)}
      {...(isBusy && busy)}
    >
      <Icon size={16} strokeWidth={1.75} aria-hidden />
    </button>
  )
  if (!hasTip) return button
  return (
    <Tip label={label} shortcut={shortcut}>
      {button}
    </Tip>
  )
}

/** The classes of a button, for links that look like one. */
export const buttonClasses = (kind: ButtonKind = 'default', isWide = false): string =>
  classes(styles.button, styles[kind], isWide && styles.wide)

import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button, type ButtonKind } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'

interface DialogButtonProps {
  label: string
  /** Of the dialog. */
  title: string
  kind?: ButtonKind
  icon?: LucideIcon
  /** What the dialog shows, such as a form. */
  children(close: () => void): ReactNode
}

/** A button that opens a dialog. */
export function DialogButton({ label, title, children, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={close}>
        {children(close)}
      </Dialog>
    </>
  )
}

interface ConfirmButtonProps {
  label: string
  /** Of the dialog. */
  title: string
  description: string
  icon?: LucideIcon
  /** Runs once; the dialog closes when it has ended. */
  onConfirm(): Promise<void>
}

/** A button that asks before it does something. The button in the dialog has the same label. */
export function ConfirmButton({ label, title, description, icon, onConfirm }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button {...(icon && { icon })} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <ConfirmDialog
        title={title}
        description={description}
        action={label}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onConfirm={onConfirm}
      />
    </>
  )
}

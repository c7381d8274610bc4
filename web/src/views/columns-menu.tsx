import { lazyRouteComponent } from '@tanstack/react-router'
import { Columns3 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { Popover } from '../ui/popover.tsx'
import type { ColumnsFormProps } from './columns-form.tsx'

const ColumnsForm = lazyRouteComponent(() => import('./columns-form.tsx'), 'ColumnsForm')

/** The button for the columns of a list. Their form is loaded before it opens, so that it gets the focus. */
export function ColumnsMenu(props: ColumnsFormProps) {
  const t = useTranslations('list')
  const [isOpen, setOpen] = useState(false)
  const change = async (next: boolean) => {
    if (next) await ColumnsForm.preload?.()
    setOpen(next)
  }
  return (
    <Popover
      label={t('columns')}
      align="end"
      isOpen={isOpen}
      onOpenChange={(next) => void change(next)}
      trigger={
        <Button kind="quiet" icon={Columns3}>
          {t('columns')}
        </Button>
      }
    >
      <ColumnsForm {...props} />
    </Popover>
  )
}

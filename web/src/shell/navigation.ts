import { House, Inbox, Lightbulb, type LucideIcon, Settings, Webhook } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { resourceIcon, resourceViews } from '../registry/resources.ts'

export interface NavigationItem {
  to: string
  label: string
  icon: LucideIcon
  /** `g c` */
  shortcut: string | undefined
  isExact?: boolean
  /** Shows the number of unread entries, or of pending suggestions. */
  counts?: 'inbox' | 'suggestions'
}

/** The pages in the sidebar: start page, inbox, resources that the person may list, suggestions, imports, settings. */
export function useNavigationItems(): readonly NavigationItem[] {
  const t = useTranslations('shell')
  const labelOf = useLabel()
  const schema = useSchema()
  const lists = Object.entries(resourceViews).flatMap(([name, { shortcut }]): NavigationItem[] => {
    const resource = schema.find((one) => one.name === name)
    if (!resource?.permissions.list) return []
    return [
      {
        to: `/${name}`,
        label: labelOf(resource.label),
        icon: resourceIcon(name),
        shortcut: shortcut && `g ${shortcut}`,
      },
    ]
  })
  const hasSuggestions = schema.some(({ name, permissions }) => name === 'suggestions' && permissions.list)
  const hasImports = schema.some(({ name, permissions }) => name === 'imports' && permissions.list)
  const suggestions: NavigationItem = {
    to: '/suggestions',
    label: t('suggestions'),
    icon: Lightbulb,
    shortcut: 'g n',
    counts: 'suggestions',
  }
  return [
    { to: '/', label: t('home'), icon: House, shortcut: 'g h', isExact: true },
    { to: '/inbox', label: t('inbox'), icon: Inbox, shortcut: 'g b', counts: 'inbox' },
    ...lists,
    ...(hasSuggestions ? [suggestions] : []),
    ...(hasImports ? [{ to: '/imports', label: t('imports'), icon: Webhook, shortcut: 'g i' }] : []),
    { to: '/settings', label: t('settings'), icon: Settings, shortcut: 'g s' },
  ]
}

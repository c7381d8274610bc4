import { useTranslations } from 'use-intl'
import { Dialog } from '../ui/dialog.tsx'
import { Keys } from '../ui/keys.tsx'
import { List, ListRow } from '../ui/page.tsx'
import { type Shortcut, useShortcutList } from '../ui/shortcuts.tsx'

/** Lists the shortcuts of the current page, then the global ones. */
export function ShortcutHelp({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const t = useTranslations('shell')
  const list = useShortcutList()
  const shortcuts = isOpen ? list() : []
  return (
    <Dialog title={t('shortcuts')} isOpen={isOpen} onClose={onClose}>
      <Group title={t('onThisPage')} shortcuts={shortcuts.filter(({ isGlobal }) => !isGlobal)} />
      <Group title={t('everywhere')} shortcuts={shortcuts.filter(({ isGlobal }) => isGlobal)} />
    </Dialog>
  )
}

function Group({ title, shortcuts }: { title: string; shortcuts: readonly Shortcut[] }) {
  if (shortcuts.length === 0) return undefined
  return (
    <section>
      <h3>{title}</h3>
      <List label={title}>
        {shortcuts.map(({ keys, label }) => (
          <ListRow key={keys} title={label}>
            <Keys keys={keys} />
          </ListRow>
        ))}
      </List>
    </section>
  )
}

import { programs } from '../../../../docs/guides/webhooks.md'
import { useTranslations } from 'use-intl'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Panel } from '../../ui/page.tsx'
import { Tabs } from '../../ui/tabs.tsx'

const languages = [
  { title: 'Node', file: 'receiver.mjs' },
  { title: 'Python', file: 'receiver.py' },
  { title: 'PHP', file: 'receiver.php' },
] as const

/** Programs that receive and verify events: those of the guide. */
export function Receivers() {
  const t = useTranslations('settings.webhooks')
  return (
    <Panel title={t('receiver')} description={t('receiverText')}>
      <Tabs
        label={t('languages')}
        tabs={languages.map(({ title, file }) => ({
          name: file,
          title,
          content: <CodeBlock label={file} text={programs[file] ?? ''} />,
        }))}
      />
    </Panel>
  )
}

import { useTranslations } from 'use-intl'
import { sendEdit } from '../../api/edit.ts'
import { useMe } from '../../api/me.ts'
import { currentLanguage, type Language, languages, setLanguage } from '../../preferences/locale.ts'
import { setTheme, type Theme, themes, useTheme } from '../../preferences/theme.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Panel } from '../../ui/page.tsx'
import styles from './profile.module.css'
import { useAct } from './use-act.ts'

/** Each language in its own name, so that people recognize theirs. */
const languageNames: Record<Language, string> = { en: 'English', de: 'Deutsch' }

/** Language and theme; both are stored in the browser, and the language also in the account, for mails. */
export function PreferencesPanel() {
  const t = useTranslations('profile.preferences')
  const shell = useTranslations('shell')
  const theme = useTheme()
  const { language } = useMe()
  const act = useAct()
  const shown = currentLanguage()
  const store = (chosen: Language) =>
    sendEdit({ path: '/v5/me', resource: 'members', seen: { language }, values: { language: chosen } })
  // Reloads the page, and stays where it is if the service refuses.
  const choose = (chosen: Language) => act(async () => store(chosen).then(() => setLanguage(chosen)))
  const themeNames: Record<Theme, string> = {
    system: shell('themeSystem'),
    light: shell('themeLight'),
    dark: shell('themeDark'),
  }
  return (
    <Panel title={t('title')} description={t('text')}>
      <div className={styles.columns}>
        <SelectField
          label={t('language')}
          value={shown}
          options={languages.map((value) => ({ value, label: languageNames[value] }))}
          onChange={({ target }) => void choose(target.value as Language)}
        />
        <SelectField
          label={shell('theme')}
          value={theme}
          options={themes.map((value) => ({ value, label: themeNames[value] }))}
          onChange={({ target }) => setTheme(target.value as Theme)}
        />
      </div>
      {language !== shown && (
        <div className={styles.state}>
          {t('otherMails')}
          <Button onClick={() => void act(() => store(shown), t('used', { language: languageNames[shown] }))}>
            {t('useForMails', { language: languageNames[shown] })}
          </Button>
        </div>
      )}
    </Panel>
  )
}

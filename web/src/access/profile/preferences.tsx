import { useTranslations } from 'use-intl'
import { currentLanguage, type Language, languages, setLanguage } from '../../preferences/locale.ts'
import { setTheme, type Theme, themes, useTheme } from '../../preferences/theme.ts'
import { SelectField } from '../../ui/field.tsx'
import { Panel } from '../../ui/page.tsx'
import styles from './profile.module.css'

/** Each language in its own name, so that people recognize theirs. */
const languageNames: Record<Language, string> = { en: 'English', de: 'Deutsch' }

/** Language and theme; stored in the browser, not in the account. */
export function PreferencesPanel() {
  const t = useTranslations('profile.preferences')
  const shell = useTranslations('shell')
  const theme = useTheme()
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
          value={currentLanguage()}
          options={languages.map((value) => ({ value, label: languageNames[value] }))}
          onChange={({ target }) => setLanguage(target.value as Language)}
        />
        <SelectField
          label={shell('theme')}
          value={theme}
          options={themes.map((value) => ({ value, label: themeNames[value] }))}
          onChange={({ target }) => setTheme(target.value as Theme)}
        />
      </div>
    </Panel>
  )
}

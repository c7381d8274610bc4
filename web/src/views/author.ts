import { useTranslations } from 'use-intl'
import type { Names } from '../api/names.ts'
import type { Entry } from '../api/timeline.ts'

/** The author of an entry, at the start of a sentence. */
export const useAuthor = (props: AuthorProps): string => useAuthorOf()(props)

interface AuthorProps {
  entry: Entry
  names: Names
}

/** The same for an author whose name is loaded later. */
export function useAuthorOf(): (props: AuthorProps) => string {
  const t = useTranslations('authors')
  return ({ entry, names }) => authorOf(t, entry, names)
}

function authorOf(
  t: ReturnType<typeof useTranslations<'authors'>>,
  entry: AuthorProps['entry'],
  names: AuthorProps['names'],
): string {
  const { authorId, change, note } = entry
  const source = change?.source ?? (note?.source === 'import' ? 'import' : 'person')
  if (source === 'import') {
    const name = names[change?.importId ?? '']
    return name === undefined ? t('anImport') : t('importNamed', { name })
  }
  if (source === 'command') return t('theOperator')
  if (source === 'analysis') return t('theAnalysis')
  if (source === 'api_key' && authorId === null) return t('anApiKey')
  const name = names[authorId ?? ''] ?? t('formerMember')
  return source === 'api_key' ? t('withApiKey', { name }) : name
}

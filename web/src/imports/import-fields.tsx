import { useSuspenseQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { itemsOfText, textOfItems } from '../views/lists-as-text.ts'
import type { Import, ImportValues } from './import-queries.ts'
import { teamsQuery } from './teams.ts'

/** The values of the form for an import; tags are separated by commas. */
interface ImportInput {
  name: string
  teamId: string
  tags: string
  mergePolicy: Import['mergePolicy']
  notesMayOptOut: boolean
}

export const inputOf = (one?: Import): ImportInput => ({
  name: one?.name ?? '',
  teamId: one?.teamId ?? '',
  tags: textOfItems(one?.tags ?? []),
  mergePolicy: one?.mergePolicy ?? 'fill',
  notesMayOptOut: one?.notesMayOptOut ?? true,
})

export const valuesOf = ({
  name,
  teamId,
  tags,
  mergePolicy,
  notesMayOptOut,
}: ImportInput): ImportValues & { name: string } => ({
  name,
  mergePolicy,
  notesMayOptOut,
  tags: itemsOfText(tags),
  ...(teamId !== '' && { teamId }),
})

interface ImportFieldsProps {
  input: ImportInput
  onChange(input: ImportInput): void
  errorOf(field: string): string | undefined
}

/** The fields of an import, for creating and for changing it. */
export function ImportFields({ input, onChange, errorOf }: ImportFieldsProps) {
  const t = useTranslations('imports')
  const { data: teams } = useSuspenseQuery(teamsQuery)
  const [defaultTeam = ''] = teams.keys()
  const set = (values: Partial<ImportInput>) => onChange({ ...input, ...values })
  return (
    <>
      <TextField
        label={t('name')}
        hint={t('nameHint')}
        error={errorOf('name')}
        value={input.name}
        maxLength={200}
        onChange={({ target }) => set({ name: target.value })}
      />
      {teams.size > 1 && (
        <SelectField
          label={t('team')}
          hint={t('teamHint')}
          error={errorOf('teamId')}
          options={[...teams].map(([value, label]) => ({ value, label }))}
          value={input.teamId || defaultTeam}
          onChange={({ target }) => set({ teamId: target.value })}
        />
      )}
      <SelectField
        label={t('mergePolicy')}
        hint={t(input.mergePolicy === 'fill' ? 'fillHint' : 'overwriteHint')}
        error={errorOf('mergePolicy')}
        options={[
          { value: 'fill', label: t('fill') },
          { value: 'overwrite', label: t('overwrite') },
        ]}
        value={input.mergePolicy}
        onChange={({ target }) => set({ mergePolicy: target.value === 'overwrite' ? 'overwrite' : 'fill' })}
      />
      <TextField
        label={t('tags')}
        hint={t('tagsHint')}
        error={errorOf('tags')}
        isOptional
        value={input.tags}
        onChange={({ target }) => set({ tags: target.value })}
      />
      <CheckField
        name="notesMayOptOut"
        label={t('notesMayOptOut')}
        hint={t('notesMayOptOutHint')}
        checked={input.notesMayOptOut}
        onChange={({ target }) => set({ notesMayOptOut: target.checked })}
      />
    </>
  )
}

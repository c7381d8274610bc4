import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Definition, isChosenType } from '../../api/declared-field.ts'
import { ApiError } from '../../api/error.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { useSchema } from '../../api/schema.ts'
import { useSeen } from '../../api/use-seen.ts'
import { useDraft } from '../../preferences/drafts.ts'
import { useLabel } from '../../messages/labels.ts'
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PropertyInput } from '../../views/property-input.tsx'
import { ChoicesEditor, type DraftChoice, newChoice } from './choices-editor.tsx'
import {
  canBeUnique,
  changeDefinitions,
  checkDefinition,
  type Definable,
  path,
  type PropertyType,
  referable,
  updateDefinition,
} from './definitions.ts'
import { keyOf } from './keys.ts'
import { type Check, CheckMisfits, Misfits } from './misfits.tsx'
import styles from './properties.module.css'
import { propertyFor, TypeIcon } from './property-icon.tsx'
import { TypePicker } from './type-picker.tsx'

/** Initial values of a new definition. */
export interface Beginning {
  key: string
  label: string
  type: PropertyType
}

interface PropertyFormProps {
  resource: Definable
  /** Undefined for a new definition. */
  definition?: Definition
  beginning?: Beginning
  onDone(): void
}

interface Draft {
  label: string
  key: string
  type: PropertyType
  description: string
  choices: readonly DraftChoice[]
  references: string
  required: boolean
  unique: boolean
  indexed: boolean
  default: unknown
}

/** Defines a property or changes its definition. Key and type cannot change, because records and programs use them. */
export function PropertyForm({ resource, definition, beginning, onDone }: PropertyFormProps) {
  const t = useTranslations('properties')
  const common = useTranslations('common')
  const post = usePostOnce()
  const seen = useSeen(definition)
  const [draft, setDraft, isRestored] = useDraft(`property ${definition?.id ?? resource}`, () =>
    draftOf(definition, beginning),
  )
  const [refusal, setRefusal] = useState<Check | ApiError>()
  const [isChecking, setChecking] = useState(false)
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const rename = (label: string) => set({ label, ...(draft.key === keyOf(draft.label) && { key: keyOf(label) }) })
  const { key, type, label } = draft
  const create = async () => {
    const body = {
      resource,
      key,
      type,
      ...(type === 'reference' && { references: draft.references }),
      ...bodyOf(draft),
    }
    setChecking(true)
    const check = await checkDefinition(body).finally(() => setChecking(false))
    if (check.unfit + check.duplicates > 0) return setRefusal(check)
    await changeDefinitions(() => post(path, body))
    onDone()
  }
  const update = async (before: Definition) => {
    await updateDefinition(before, bodyOf(draft))
    onDone()
  }
  const submit = async () => {
    setRefusal(undefined)
    try {
      await (seen ? update(seen) : create())
    } catch (error) {
      if (error instanceof ApiError && misfitsOf(error, key).length > 0) setRefusal(error)
      throw error
    }
  }
  return (
    <Form
      isRestored={isRestored}
      submitLabel={common(definition ? 'save' : 'create')}
      onCancel={onDone}
      onSubmit={submit}
    >
      {(errorOf) => (
        <>
          <TextField
            label={t('label')}
            value={label}
            error={errorOf('label')}
            maxLength={200}
            autoComplete="off"
            onChange={(event) => rename(event.target.value)}
          />
          {definition ? (
            <Fixed definition={definition} />
          ) : (
            <>
              <TextField
                label={t('key')}
                hint={t('keyHint')}
                value={key}
                error={errorOf('key')}
                maxLength={64}
                autoComplete="off"
                onChange={(event) => set({ key: event.target.value })}
              />
              <TypePicker type={type} onChange={(changed) => set(forType(draft, changed))} />
            </>
          )}
          {!definition && type === 'reference' && (
            <ReferencesField draft={draft} error={errorOf('references')} onChange={set} />
          )}
          {isChosenType(type) && (
            <ChoicesEditor choices={draft.choices} errorOf={errorOf} onChange={(choices) => set({ choices })} />
          )}
          <TextAreaField
            label={t('description')}
            hint={t('descriptionHint')}
            isOptional
            value={draft.description}
            error={errorOf('description')}
            maxLength={2000}
            rows={2}
            onChange={(event) => set({ description: event.target.value })}
          />
          <Rules draft={draft} errorOf={errorOf} onChange={set} />
          {isChecking && <Checking />}
          {refusal instanceof ApiError && errorOf(`customProperties.${key}`) !== undefined && (
            <Misfits resource={resource} summary={refusal.description} misfits={misfitsOf(refusal, key)} />
          )}
          {refusal && !(refusal instanceof ApiError) && <CheckMisfits resource={resource} check={refusal} />}
        </>
      )}
    </Form>
  )
}

function ReferencesField({ draft, error, onChange }: Omit<RulesProps, 'errorOf'> & { error: string | undefined }) {
  const t = useTranslations('properties')
  const labelOf = useLabel()
  const schema = useSchema()
  return (
    <SelectField
      label={t('references')}
      error={error}
      options={referable.map((value) => ({
        value,
        label: labelOf(schema.find(({ name }) => name === value)?.label ?? value),
      }))}
      value={draft.references}
      onChange={(event) => onChange({ references: event.target.value })}
    />
  )
}

/** Shown while the values of many records are checked. */
function Checking() {
  const t = useTranslations('properties')
  return (
    <p role="status" className={styles.checking}>
      {t('checking')}
      <progress aria-label={t('checking')} />
    </p>
  )
}

/** What can no longer be changed. */
function Fixed({ definition: { key, type } }: { definition: Definition }) {
  const t = useTranslations('properties')
  return (
    <p className={styles.fixed}>
      <TypeIcon type={type} />
      {t(`types.${type}`)} · <code>{key}</code>
    </p>
  )
}

interface RulesProps {
  draft: Draft
  errorOf(field: string): string | undefined
  onChange(changes: Partial<Draft>): void
}

/** Required, unique, indexed, and the default value if the type allows one. */
function Rules({ draft, errorOf, onChange }: RulesProps) {
  const t = useTranslations('properties')
  const { type, choices } = draft
  const flags = (['required', 'unique', 'indexed'] as const).filter((name) => name !== 'unique' || canBeUnique(type))
  const hasDefault = !draft.unique && type !== 'reference'
  const named = choices.filter(({ value }) => value !== '')
  return (
    <>
      <fieldset className={styles.rules}>
        <legend className="visually-hidden">{t('rules')}</legend>
        {flags.map((name) => (
          <div key={name}>
            <CheckField
              label={t(name)}
              hint={t(`${name}Text`)}
              checked={draft[name]}
              onChange={(event) => onChange({ [name]: event.target.checked })}
            />
            <FlagError text={errorOf(name)} />
          </div>
        ))}
      </fieldset>
      {hasDefault && (
        <PropertyInput
          key={type}
          property={propertyFor({ type, label: t('default'), description: t('defaultHint'), choices: [...named] })}
          value={draft.default}
          error={errorOf('default')}
          onChange={(value) => onChange({ default: value })}
        />
      )}
    </>
  )
}

function FlagError({ text }: { text: string | undefined }) {
  if (text === undefined) return undefined
  return (
    <p className={styles.error} tabIndex={-1} aria-invalid>
      {text.charAt(0).toUpperCase() + text.slice(1)}
    </p>
  )
}

const draftOf = (definition: Definition | undefined, beginning: Beginning | undefined): Draft => ({
  label: definition?.label ?? beginning?.label ?? '',
  key: definition?.key ?? beginning?.key ?? '',
  type: definition?.type ?? beginning?.type ?? 'text',
  description: definition?.description ?? '',
  choices: (definition?.choices ?? []).map((choice) => ({ ...choice, id: choice.value, isStored: true })),
  references: definition?.reference?.resource ?? 'companies',
  required: definition?.required ?? false,
  unique: definition?.unique ?? false,
  indexed: definition?.indexed ?? false,
  default: definition?.default ?? null,
})

/** Values that were entered for another type do not fit this one. */
const forType = (draft: Draft, type: PropertyType): Partial<Draft> => ({
  type,
  default: null,
  unique: draft.unique && canBeUnique(type),
  choices: isChosenType(type) && draft.choices.length === 0 ? [newChoice()] : draft.choices,
})

/** Everything that can be changed later. */
const bodyOf = (draft: Draft) => ({
  label: draft.label,
  description: draft.description.trim() === '' ? null : draft.description,
  choices: isChosenType(draft.type)
    ? draft.choices.map(({ value, label, archived }) => ({ value, label, archived }))
    : [],
  required: draft.required,
  unique: draft.unique,
  indexed: draft.indexed,
  default: draft.unique || draft.type === 'reference' ? null : draft.default,
})

/** The records whose values do not fit the definition. */
const misfitsOf = ({ details }: ApiError, key: string) =>
  details.flatMap(({ field, id, message }) =>
    field === `customProperties.${key}` && id !== undefined ? [{ id, message }] : [],
  )

import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { send } from '../api/client.ts'
import { usePostOnce } from '../api/post-once.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { pipelinesChanged, type Stage, stageKinds } from './stages.ts'

interface StageFormProps {
  /** Undefined for a new one. */
  stage?: Stage
  /** Of the stages of its pipeline. */
  path: string
  onDone(): void
}

/** Only open stages have a probability and can rot: won deals are certain, lost ones are over. */
export function StageForm({ stage, path, onDone }: StageFormProps) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const choiceLabel = useChoiceLabel()
  const post = usePostOnce()
  const [kind, setKind] = useState<string>(stage?.kind ?? 'open')
  const store = ({ name = '', probability, rottingDays }: FormValues) => {
    const open = {
      ...(probability !== undefined && { probability: Number(probability) }),
      rottingDays: rottingDays === undefined ? null : Number(rottingDays),
    }
    const body = { name, kind, ...(kind === 'open' ? open : { rottingDays: null }) }
    return stage ? send('PATCH', `${path}/${stage.id}`, { body }) : post(path, body)
  }
  const isOpen = kind === 'open'
  return (
    <Form
      submitLabel={common(stage ? 'save' : 'add')}
      onCancel={onDone}
      onSubmit={async (values) => {
        await change(['pipelines'], () => store(values))
        pipelinesChanged()
        onDone()
      }}
    >
      {(errorOf) => (
        <>
          <TextField
            label={t('name')}
            name="name"
            defaultValue={stage?.name}
            error={errorOf('name')}
            maxLength={100}
            autoComplete="off"
          />
          <SelectField
            label={t('kind')}
            hint={stage && stage.kind !== kind ? t('kindHint') : undefined}
            error={errorOf('kind')}
            options={stageKinds.map((value) => ({ value, label: choiceLabel(value) }))}
            value={kind}
            onChange={(event) => setKind(event.target.value)}
          />
          {isOpen && (
            <>
              <TextField
                label={t('probability')}
                hint={t('probabilityHint')}
                name="probability"
                type="number"
                min={0}
                max={100}
                defaultValue={stage?.kind === 'open' ? stage.probability : 50}
                error={errorOf('probability')}
              />
              <TextField
                label={t('rottingDays')}
                hint={t('rottingHint')}
                isOptional
                name="rottingDays"
                type="number"
                min={1}
                max={3650}
                defaultValue={stage?.rottingDays ?? undefined}
                error={errorOf('rottingDays')}
              />
            </>
          )}
        </>
      )}
    </Form>
  )
}

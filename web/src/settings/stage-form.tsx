import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { sendEdit } from '../api/edit.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useSeen } from '../api/use-seen.ts'
import { useDraft } from '../preferences/drafts.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { NumberField } from '../ui/number-field.tsx'
import { useNumbers } from '../ui/use-numbers.ts'
import { useChoiceLabel } from '../views/choices.ts'
import { pipelinesChanged, type Stage, stageKinds } from './stages.ts'

const percent = { isWhole: true, isPercent: true, minimum: 0, maximum: 100 }
const days = { isWhole: true, minimum: 1, maximum: 3650 }

interface StageFormProps {
  /** Undefined for a new stage. */
  stage?: Stage
  /** The path of the pipeline's stages. */
  path: string
  onDone(): void
}

/** Only open stages have a probability and can rot; won and lost deals are finished. */
export function StageForm({ stage, path, onDone }: StageFormProps) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const choiceLabel = useChoiceLabel()
  const numbers = useNumbers()
  const post = usePostOnce()
  const seen = useSeen(stage)
  const draft = `stage ${stage?.id ?? path}`
  const [kind, setKind] = useDraft<string>(`${draft} kind`, () => stage?.kind ?? 'open')
  const store = ({ name = '', probability, rottingDays }: FormValues) => {
    const open = {
      ...(probability !== undefined && { probability: numbers.readJson(probability, percent) }),
      rottingDays: rottingDays === undefined ? null : numbers.readJson(rottingDays, days),
    }
    const body = { name, kind, ...(kind === 'open' ? open : { rottingDays: null }) }
    return seen ? sendEdit({ path: `${path}/${seen.id}`, resource: 'stages', seen, values: body }) : post(path, body)
  }
  const isOpen = kind === 'open'
  return (
    <Form
      draft={draft}
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
              <NumberField
                label={t('probability')}
                hint={t('probabilityHint')}
                name="probability"
                rules={percent}
                defaultValue={stage?.kind === 'open' ? stage.probability : 50}
                error={errorOf('probability')}
              />
              <NumberField
                label={t('rottingDays')}
                hint={t('rottingHint')}
                isOptional
                name="rottingDays"
                rules={days}
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

import { useTranslations } from 'use-intl'
import { sendEdit } from '../../api/edit.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { useResource } from '../../api/schema.ts'
import { useSeen } from '../../api/use-seen.ts'
import { useLabel } from '../../messages/labels.ts'
import { useDraft } from '../../preferences/drafts.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { propertyOf } from '../../views/columns.tsx'
import { PropertyInput } from '../../views/property-input.tsx'
import { useReferenceTitle } from '../../views/reference-title.tsx'
import { type Employment, employmentsChanged } from '../employment-data.ts'

interface EmploymentDialogProps {
  contactId: string
  /** Undefined for a new one. */
  employment: Employment | undefined
  onClose(): void
}

/** The form for a job. A chosen company gives its name to the employer, unless the person enters another one. */
export function EmploymentDialog({ contactId, employment, onClose }: EmploymentDialogProps) {
  const t = useTranslations('employments')
  const common = useTranslations('common')
  const labelOf = useLabel()
  const post = usePostOnce()
  const seen = useSeen(employment)
  const resource = useResource('employments')
  const property = resource && propertyOf(resource, 'company')
  const draft = `employment ${seen?.id ?? contactId}`
  const [companyId, setCompanyId] = useDraft<unknown>(`${draft} company`, () => seen?.companyId ?? null)
  const [isCurrent, setCurrent] = useDraft(`${draft} current`, () => seen?.current ?? false)
  const companyName = useReferenceTitle('companies', typeof companyId === 'string' ? companyId : undefined)
  const path = `/v5/contacts/${contactId}/employments`
  const submit = async (entered: FormValues) => {
    const values = { ...valuesOf(entered, companyName), companyId: companyId ?? null, current: isCurrent }
    if (seen) await sendEdit({ path: `${path}/${seen.id}`, resource: 'employments', seen, values })
    else await post(path, values)
    await employmentsChanged()
    onClose()
  }
  return (
    <Dialog title={t(seen ? 'edit' : 'add')} isOpen onClose={onClose}>
      <Form
        isGuarded
        draft={draft}
        isChanged={companyId !== (seen?.companyId ?? null)}
        submitLabel={common('save')}
        onCancel={onClose}
        onSubmit={submit}
      >
        {(errorOf) => (
          <>
            {property && (
              <PropertyInput
                property={property}
                value={companyId}
                error={errorOf('companyId')}
                onChange={setCompanyId}
              />
            )}
            <TextField
              label={labelOf('Organization')}
              name="organization"
              defaultValue={seen?.organization}
              placeholder={companyName}
              hint={t('organizationHint')}
              error={errorOf('organization')}
            />
            <TextField
              label={labelOf('Job title')}
              name="title"
              isOptional
              defaultValue={seen?.title ?? undefined}
              error={errorOf('title')}
            />
            <TextField
              label={labelOf('Start')}
              name="start"
              type="month"
              isOptional
              defaultValue={seen?.start ?? undefined}
              error={errorOf('start')}
            />
            <CheckField
              label={labelOf('Current job')}
              checked={isCurrent}
              onChange={(event) => setCurrent(event.target.checked)}
            />
            {!isCurrent && (
              <TextField
                label={labelOf('End')}
                name="end"
                type="month"
                isOptional
                defaultValue={seen?.end ?? undefined}
                error={errorOf('end')}
              />
            )}
          </>
        )}
      </Form>
    </Dialog>
  )
}

const valuesOf = ({ organization, title, start, end }: FormValues, companyName: string | undefined) => ({
  organization: organization?.trim() ?? companyName ?? '',
  title: title?.trim() ?? null,
  start: start ?? null,
  end: end ?? null,
})

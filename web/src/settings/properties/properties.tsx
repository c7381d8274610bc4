import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useResource } from '../../api/schema.ts'
import { useLabel } from '../../messages/labels.ts'
import { CopyRequest } from '../../ui/copy-request.tsx'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/chip.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { PageContent, Panel } from '../../ui/page.tsx'
import { useGoTo, useSectionSearch } from '../location.ts'
import { useMay } from '../../api/permissions.ts'
import { SectionBar } from '../section-bar.tsx'
import { type Definable, definable, path } from './definitions.ts'
import { ArchivedProperties, DefinitionList } from './definition-list.tsx'
import { DeletedProperties } from './deleted-properties.tsx'
import { type Beginning, PropertyForm } from './property-form.tsx'
import { Undeclared } from './undeclared.tsx'
import styles from './properties.module.css'

/** The custom properties of the resource in `?resource=…`: contacts, companies or deals. */
export function Properties() {
  const t = useTranslations('properties')
  const settings = useTranslations('settings.properties')
  const labelOf = useLabel()
  const goTo = useGoTo()
  const may = useMay()
  const chosen = useSectionSearch().resource
  const name = definable.find((one) => one === chosen) ?? definable[0]
  // Undefined while the dialog is closed.
  const [beginning, setBeginning] = useState<Partial<Beginning>>()
  const canDefine = may('property:create:write')
  return (
    <>
      <SectionBar title={settings('title')}>
        {canDefine && (
          <Button kind="primary" icon={Plus} onClick={() => setBeginning({})}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <div className={styles.resources}>
          <ResourceSegments name={name} onChange={(resource) => goTo('properties', { resource }, { replace: true })} />
        </div>
        <Definitions key={name} name={name} onDefine={canDefine ? setBeginning : undefined} />
      </PageContent>
      <Dialog
        title={t('createTitle', { resource: labelOf(useResource(name)?.label ?? name) })}
        isOpen={beginning !== undefined}
        isLarge
        onClose={() => setBeginning(undefined)}
      >
        <PropertyForm
          resource={name}
          {...(isWhole(beginning) && { beginning })}
          onDone={() => setBeginning(undefined)}
        />
      </Dialog>
    </>
  )
}

const isWhole = (beginning: Partial<Beginning> | undefined): beginning is Beginning => beginning?.key !== undefined

function ResourceSegments({ name, onChange }: { name: Definable; onChange(name: Definable): void }) {
  const t = useTranslations('properties')
  const labelOf = useLabel()
  const [contacts, companies, deals] = definable.map(useResource)
  const options = [contacts, companies, deals].flatMap((resource) =>
    resource ? [{ value: resource.name as Definable, label: labelOf(resource.label) }] : [],
  )
  return <Segments label={t('resource')} options={options} value={name} onChange={onChange} />
}

interface DefinitionsProps {
  name: Definable
  onDefine: ((beginning: Beginning) => void) | undefined
}

function Definitions({ name, onDefine }: DefinitionsProps) {
  const t = useTranslations('properties')
  const definitions = useResource(name)?.properties ?? []
  const shown = definitions.filter(({ archived }) => !archived)
  const query = { 'filter.resource.equals': name, orderBy: 'position', sort: 'asc' }
  return (
    <>
      <Panel title={t('defined')} description={t('text')} actions={<CopyRequest path={path} query={query} />}>
        <DefinitionList name={name} definitions={shown} />
      </Panel>
      <Undeclared name={name} onDefine={onDefine} />
      <ArchivedProperties name={name} definitions={definitions.filter(({ archived }) => archived)} />
      <DeletedProperties name={name} />
    </>
  )
}

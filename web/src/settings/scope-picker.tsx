import { useId } from 'react'
import { useTranslations } from 'use-intl'
import { useMe, useRole } from '../api/me.ts'
import { useSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { Button } from '../ui/button.tsx'
import { CheckField } from '../ui/field.tsx'
import { Panel } from '../ui/page.tsx'
import { covers, type Scope, useScopes } from '../api/permissions.ts'
import styles from './scope-picker.module.css'
import { useSentence } from './sentences.ts'

interface ScopePickerProps {
  /** What the selection is for. */
  text: string
  /** Presets; any other selection is made by checkbox. */
  presets: readonly { label: string; scopes: readonly string[] }[]
  /** Without it, all scopes are offered. */
  isOffered?(scope: Scope): boolean
  scopes: readonly string[]
  error: string | undefined
  onChange(scopes: readonly string[]): void
}

const prefix = 'urn:service:'

/** The full form of a scope such as `contact:*:read`. */
export const scopeText = (short: string): string => prefix + short

/** Selects the scopes of a key or a role: presets, then one checkbox per scope, grouped by resource. */
export function ScopePicker(props: ScopePickerProps) {
  const { text, presets, isOffered = () => true, scopes, error, onChange } = props
  const t = useTranslations('settings.scopes')
  const errorId = useId()
  const all = useScopes().filter(isOffered)
  const resources = [...new Set(all.map(({ resource }) => resource))]
  const toggle = (scope: string, isOn: boolean) =>
    onChange(isOn ? [...scopes, scope] : scopes.filter((one) => one !== scope))
  return (
    <Panel title={t('title')} description={text}>
      <div className={styles.presets} role="group" aria-label={t('presets')}>
        {presets.map((preset) => (
          <Button key={preset.label} onClick={() => onChange(preset.scopes)}>
            {preset.label}
          </Button>
        ))}
        {scopes.length > 0 && (
          <Button kind="quiet" onClick={() => onChange([])}>
            {t('clear')}
          </Button>
        )}
        <span role="status" className={styles.count}>
          {t('chosen', { count: scopes.length })}
        </span>
      </div>
      {error !== undefined && (
        <p id={errorId} className={styles.error} tabIndex={-1} aria-invalid>
          {error}
        </p>
      )}
      <div className={styles.groups}>
        {resources.map((resource) => (
          <ScopeGroup
            key={resource}
            resource={resource}
            members={all.filter((scope) => scope.resource === resource)}
            chosen={scopes}
            onToggle={toggle}
          />
        ))}
      </div>
    </Panel>
  )
}

interface ScopeGroupProps {
  resource: string
  members: readonly Scope[]
  chosen: readonly string[]
  onToggle(scope: string, isOn: boolean): void
}

function ScopeGroup({ resource, members, chosen, onToggle }: ScopeGroupProps) {
  const t = useTranslations('settings.scopes')
  const label = useResourceLabel()
  const count = members.filter((scope) => covers(chosen, scope)).length
  return (
    <details className={styles.group} open={resource === '*'}>
      <summary className={styles.summary}>
        <span className={styles.resource}>{resource === '*' ? t('everything') : label(resource)}</span>
        <span className={styles.count}>{count > 0 && t('of', { count, total: members.length })}</span>
      </summary>
      <div className={styles.scopes}>
        {members.map((scope) => (
          <ScopeCheck key={scope.scope} scope={scope} chosen={chosen} onToggle={onToggle} />
        ))}
      </div>
    </details>
  )
}

function ScopeCheck({ scope, chosen, onToggle }: { scope: Scope } & Pick<ScopeGroupProps, 'chosen' | 'onToggle'>) {
  const t = useTranslations('settings.scopes')
  const sentence = useSentence()
  const isGrantable = useIsGrantable()(scope)
  const isChosen = chosen.includes(scope.scope)
  const isCovered = !isChosen && covers(chosen, scope)
  const isFixed = isCovered || (!isGrantable && !isChosen)
  return (
    <CheckField
      label={sentence(scope.description)}
      hint={isFixed && !isCovered ? t('notGrantable') : undefined}
      checked={isChosen || isCovered}
      disabled={isFixed}
      onChange={(event) => onToggle(scope.scope, event.target.checked)}
    />
  )
}

/** Nobody can grant a scope that they lack; only owners can grant guarded ones. */
function useIsGrantable(): (scope: Scope) => boolean {
  const held = useMe().credential.scopes
  const role = useRole()
  return (scope) => covers(held, scope) && (!scope.guarded || role === 'owner')
}

/** The heading for a scope's resource: the label of its list if the schema has one. */
function useResourceLabel(): (resource: string) => string {
  const schema = useSchema()
  const labelOf = useLabel()
  return (resource) => {
    const known = schema.find(({ singular }) => singular === resource)
    const words = resource.replaceAll('-', ' ')
    return labelOf(known?.label ?? words.charAt(0).toUpperCase() + words.slice(1))
  }
}

import { LaterMessages } from '../messages/later-messages.tsx'
import { RecordPage } from '../views/record-page.tsx'
import { ValueViewsContext } from '../views/value-views.ts'
import { recordActions, recordErasures, recordSections } from './sections.ts'
import { valueViews } from './value-views.ts'

/** The page of a record with what the application adds to it. */
export const ResourceRecordPage = () => (
  <LaterMessages>
    <ValueViewsContext value={valueViews}>
      <RecordPage sections={recordSections} actions={recordActions} erasures={recordErasures} />
    </ValueViewsContext>
  </LaterMessages>
)

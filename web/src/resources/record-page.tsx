import { LaterMessages } from '../messages/later-messages.tsx'
import { RecordPage } from '../views/record-page.tsx'
import { recordActions, recordSections } from './sections.ts'

/** The page of a record with what the application adds to it. */
export const ResourceRecordPage = () => (
  <LaterMessages>
    <RecordPage sections={recordSections} actions={recordActions} />
  </LaterMessages>
)

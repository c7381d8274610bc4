import { RecordPage } from '../views/record-page.tsx'
import { recordActions, recordSections } from './sections.ts'

/** The page of a record with what the application adds to it. */
export const ResourceRecordPage = () => <RecordPage sections={recordSections} actions={recordActions} />

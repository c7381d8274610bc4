import { type ComponentType, createContext, Fragment, use } from 'react'

/** Renders a record that an error names by its id. */
export const RecordNameContext = createContext<ComponentType<{ id: string }> | undefined>(undefined)

/** An error message. Ids are replaced by a link with the record's name. */
export function ErrorText({ text }: { text: string }) {
  const RecordName = use(RecordNameContext)
  const parts = text.split(/\(?([a-z]{3}_[0-9a-f]{32})\)?/)
  return parts.map((part, index) => (
    // Every second part is an id.
    <Fragment key={`${index} ${part}`}>{index % 2 === 1 && RecordName ? <RecordName id={part} /> : part}</Fragment>
  ))
}

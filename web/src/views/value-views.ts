import { type ComponentType, createContext } from 'react'
import type { ValueEditorProps } from './editing.ts'

export interface ValueViewProps {
  value: unknown
  record: Readonly<Record<string, unknown>>
}

/** For values that only a sentence explains, and that have fields of their own. */
export interface ValueView {
  View: ComponentType<ValueViewProps>
  /** Edits the value instead of the usual editor. */
  Editor?: ComponentType<ValueEditorProps>
}

/** By resource and field. */
export type ValueViews = Readonly<Record<string, Readonly<Record<string, ValueView>>>>

export const ValueViewsContext = createContext<ValueViews>({})

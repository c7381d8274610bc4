import { type ComponentType, createContext } from 'react'

export interface ValueViewProps {
  value: unknown
  record: Readonly<Record<string, unknown>>
}

/** Components for values that only a sentence explains, by resource and field. */
export type ValueViews = Readonly<Record<string, Readonly<Record<string, ComponentType<ValueViewProps>>>>>

export const ValueViewsContext = createContext<ValueViews>({})

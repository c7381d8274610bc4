import { type KeyboardEvent, useRef } from 'react'
import type { RecordData } from '../api/schema.ts'
import type { Property } from './property.ts'

/** Where the focus goes after an editor; undefined if it stays, or the person has already moved it. */
export type Move = 'down' | 'right' | 'left' | undefined

export interface ValueEditorProps {
  property: Property
  /** The value to edit, as the API has it. */
  value: unknown
  /** The record that it belongs to: a deal can only be in a stage of its pipeline. */
  record?: Readonly<Record<string, unknown>>
  /** What was typed to begin, instead of the value. */
  typed?: string | undefined
  /** `shown`: the record behind a chosen reference. */
  onCommit(value: unknown, move: Move, shown?: RecordData): void
  onCancel(move?: Move): void
}

export interface FinishOptions extends Pick<ValueEditorProps, 'onCommit' | 'onCancel'> {
  valueOf(): unknown
  /** Does Enter belong to the text? */
  isLineBreak?(event: KeyboardEvent): boolean
}

/** The keys that end an editor. It ends once: it also loses the focus when it disappears. */
export function useFinish({ valueOf, isLineBreak, onCommit, onCancel }: FinishOptions) {
  const isDone = useRef(false)
  const finish = (move: Move) => {
    if (isDone.current) return
    isDone.current = true
    onCommit(valueOf(), move)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Escape') {
      isDone.current = true
      onCancel()
    } else if (event.key === 'Enter' && !isLineBreak?.(event)) finish('down')
    else if (event.key === 'Tab') finish(event.shiftKey ? 'left' : 'right')
    else return
    event.preventDefault()
  }
  return { finish, onKeyDown }
}

/** Is the value a list of some of them? */
export const isMultiChoice = ({ type, choiceLabels }: Property): boolean =>
  type === 'list' && choiceLabels !== undefined

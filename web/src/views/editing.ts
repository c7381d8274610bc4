import { type KeyboardEvent, useRef } from 'react'
import type { RecordData } from '../api/schema.ts'
import type { Property } from './property.ts'

/** The direction of the focus after an editor; undefined if it stays or the person has already moved it. */
export type Move = 'down' | 'right' | 'left' | undefined

export interface ValueEditorProps {
  property: Property
  /** The value to edit, as in the API. */
  value: unknown
  /** The value's record: for example, a deal can only be in a stage of its own pipeline. */
  record?: Readonly<Record<string, unknown>>
  /** The typed text that started the edit, instead of the value. */
  typed?: string | undefined
  /** `shown`: the record behind the chosen reference. */
  onCommit(value: unknown, move: Move, shown?: RecordData): void
  onCancel(move?: Move): void
}

export interface FinishOptions extends Pick<ValueEditorProps, 'onCommit' | 'onCancel'> {
  valueOf(): unknown
  /** Is Enter a line break in this input? */
  isLineBreak?(event: KeyboardEvent): boolean
}

/** Handles the keys that end an editor. It ends only once, although it also loses the focus when it is removed. */
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

/** Is the value a list of choices? */
export const isMultiChoice = ({ type, choiceLabels }: Property): boolean =>
  type === 'list' && choiceLabels !== undefined

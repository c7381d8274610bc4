/** Result of one check of the doctor. A `note` is worth knowing and not a problem. */
export interface Finding {
  name: string
  state: 'ok' | 'note' | 'wrong'
  message: string
  advice?: string
}

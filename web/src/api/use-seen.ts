import { useState } from 'react'

/** The record as it was when the person began to edit it: what is shown may be read again meanwhile. */
export const useSeen = <T>(record: T): T => useState(record)[0]

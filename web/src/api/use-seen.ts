import { useState } from 'react'

/** The record as it was when the person started to edit it; the displayed one may be refetched meanwhile. */
export const useSeen = <T>(record: T): T => useState(record)[0]

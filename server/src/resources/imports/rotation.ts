import type { BodyShape } from '../../platform/resource/body.ts'
import type { AnyRow } from '../../platform/resource/define.ts'
import { integer } from '../../platform/resource/fields.ts'

/** Seconds in a day: time enough to tell a sender the new URL. */
const usualOverlap = 86_400

/** What a rotation is asked for with, over HTTP and on the command line. */
export const rotationShape: BodyShape = {
  fields: {
    overlapSeconds: integer({
      label: 'Overlap',
      description: 'Seconds for which the URLs from before stay good at most; 0 ends them at once',
      nullable: false,
      min: 0,
      max: 30 * 86_400,
      initial: usualOverlap,
    }),
  },
  readOnly: [],
  mode: 'create',
}

/** The overlap of a body that was read by this shape. */
export const overlapOf = ({ overlapSeconds }: AnyRow): number => Number(overlapSeconds ?? usualOverlap)

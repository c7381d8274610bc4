import { defineResource } from '../../platform/records/declare/define.ts'
import { id, integer, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
import { deals } from '../deals/resource.ts'

/** A move of a deal from one stage to another; never changed, so that it is still right when stages are renamed. */
export const stageMoves = defineResource({
  name: 'stage-moves',
  table: 'stage_moves',
  singular: 'stage-move',
  component: 'StageMove',
  idPrefix: 'mov',
  heading: 'The stages that a deal has been in, and for how long.',
  roleGroup: 'visible',
  softDelete: false,
  // The event of the deal shows its move.
  feed: false,
  titleField: 'toStageName',
  parent: { parameter: 'dealId', resource: deals, column: 'deal_id', isSmall: true },
  fields: {
    id: id('mov'),
    dealId: reference('del', { label: 'Deal', readOnly: true, nullable: false }),
    fromStageId: reference('stg', { label: 'From stage', readOnly: true, nullable: false, hasNoForeignKey: true }),
    fromStageName: text({
      label: 'Name of the previous stage',
      description: 'At that time',
      readOnly: true,
      nullable: false,
    }),
    toStageId: reference('stg', { label: 'To stage', readOnly: true, nullable: false, hasNoForeignKey: true }),
    toStageName: text({ label: 'Name of the stage', description: 'At that time', readOnly: true, nullable: false }),
    secondsInStage: integer({
      label: 'Seconds in the previous stage',
      readOnly: true,
      nullable: false,
      min: 0,
      max: 2_147_483_647,
    }),
    movedById: reference('usr', {
      label: 'Moved by',
      description: 'The person, or the creator of the API key; null if a command or an import moved it',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    createdAt: timestamp({ label: 'Moved at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})

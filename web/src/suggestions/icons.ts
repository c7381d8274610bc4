import {
  ArrowRightLeft,
  CalendarPlus,
  CirclePause,
  Hourglass,
  ListTodo,
  type LucideIcon,
  MailX,
  Phone,
  Reply,
  UserPlus,
} from 'lucide-react'
import type { SuggestionType } from './suggestion-data.ts'

export const typeIcons: Readonly<Record<SuggestionType, LucideIcon>> = {
  reply: Reply,
  call: Phone,
  schedule_meeting: CalendarPlus,
  create_task: ListTodo,
  wait_until: Hourglass,
  change_stage: ArrowRightLeft,
  add_contact: UserPlus,
  stop_campaign: CirclePause,
  suppress: MailX,
}

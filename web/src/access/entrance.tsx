import { Outlet } from '@tanstack/react-router'
import { LaterMessages } from '../messages/later-messages.tsx'

/** Gives the pages around the log-in their texts. */
export const Entrance = () => (
  <LaterMessages>
    <Outlet />
  </LaterMessages>
)

import { useScopes } from '../../api/permissions.ts'
import { useSentence } from '../sentences.ts'

/** What a scope allows, in the page's language. */
export function useScopeLabel(): (scope: string) => string {
  const all = useScopes()
  const sentence = useSentence()
  return (text) => sentence(all.find(({ scope }) => scope === text)?.description ?? text)
}

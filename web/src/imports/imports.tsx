export function Imports() {
  return <p>Imports</p>
}

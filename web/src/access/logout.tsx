export function Logout() {
  return <p>Logout</p>
}

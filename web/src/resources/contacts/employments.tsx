export function Employments() {
  return <p>Employments</p>
}

/** For the pages of the server itself, such as those of errors. */
export const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: #c9ccd3; --ink: #17181c; --soft: #565a66; --paper: #fff; --back: #f4f5f7; --key: #2f4bd8 }
@media (prefers-color-scheme: dark) { :root { --line: #434754; --ink: #ececf0; --soft: #a8acb9; --paper: #1c1d22; --back: #131418; --key: #93a5ff } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 8vh 1rem 2rem; background: var(--back); color: var(--ink) }
main { width: min(26rem, 100%); padding: 2rem; background: var(--paper); border: 1px solid var(--line); border-radius: 12px }
.brand { margin: 0 0 1.5rem; font-weight: 600; color: var(--soft) }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; line-height: 1.25 }
p { margin: 0 0 1rem; color: var(--soft); overflow-wrap: anywhere }
a { color: var(--key) }
a:focus-visible { outline: 2px solid var(--key); outline-offset: 2px }
ul { margin: 0 0 1rem; padding: 0; list-style: none }
li { margin: .5rem 0 }
code { overflow-wrap: anywhere }
`

/** For every page except the API explorer. The borders (`--edge`) have a contrast of 3:1 (WCAG 1.4.11). */
export const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: #c9ccd3; --edge: #757a87; --ink: #17181c; --soft: #565a66; --paper: #fff; --back: #f4f5f7; --key: #2f4bd8; --bad: #b3161b }
@media (prefers-color-scheme: dark) { :root { --line: #434754; --edge: #868b9a; --ink: #ececf0; --soft: #a8acb9; --paper: #1c1d22; --back: #131418; --key: #93a5ff; --bad: #ff9a94 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 8vh 1rem 2rem; background: var(--back); color: var(--ink) }
main { width: min(26rem, 100%); padding: 2rem; background: var(--paper); border: 1px solid var(--line); border-radius: 12px }
.brand { margin: 0 0 1.5rem; font-weight: 600; color: var(--soft) }
[hidden] { display: none !important }
p:empty, ul:empty { display: none }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; line-height: 1.25; outline: none }
p { margin: 0 0 1rem; color: var(--soft); overflow-wrap: anywhere }
label { display: block; margin: 1rem 0 .25rem; font-weight: 500 }
input { width: 100%; padding: .55rem .7rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--edge); border-radius: 8px }
.row { display: flex; gap: .5rem }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--key); outline-offset: 2px }
input[aria-invalid=true] { border-color: var(--bad) }
.hint, .fault { margin: .25rem 0 0; font-size: .875rem }
.fault, #message.bad { color: var(--bad) }
button { margin-top: 1.5rem; width: 100%; padding: .65rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--key); border: 0; border-radius: 8px; cursor: pointer }
.row .reveal { flex: none; width: auto; min-width: 4.5rem; margin: 0; padding: .55rem .7rem; font-weight: 500; color: var(--key); background: transparent; border: 1px solid var(--edge) }
button[disabled] { opacity: .6; cursor: progress }
#message, #note { margin: 1rem 0 0 }
#shown { display: block; padding: .7rem; font-family: ui-monospace, monospace; overflow-wrap: anywhere; user-select: all; border: 1px solid var(--edge); border-radius: 8px }
.next { margin: 1rem 0 0; padding: 0; list-style: none }
.next a { display: inline-block; padding: .35rem 0 }
a { color: var(--key) }
ul { margin: 0 0 1rem; padding: 0; list-style: none }
li { margin: .5rem 0 }
.next li { margin: 0 }
code { overflow-wrap: anywhere }
`

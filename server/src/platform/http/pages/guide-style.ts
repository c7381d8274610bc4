/** For the pages of the guides: wide enough for tables and code, which scroll inside the page. */
export const guideStyle = `:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; --line: #c9ccd3; --ink: #17181c; --soft: #565a66; --paper: #fff; --back: #f4f5f7; --key: #2f4bd8 }
@media (prefers-color-scheme: dark) { :root { --line: #434754; --ink: #ececf0; --soft: #a8acb9; --paper: #1c1d22; --back: #131418; --key: #93a5ff } }
* { box-sizing: border-box }
body { margin: 0; padding: 2rem 1rem; background: var(--back); color: var(--ink) }
main { width: min(52rem, 100%); margin: 0 auto; padding: clamp(1rem, 4vw, 2.5rem); background: var(--paper); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere }
nav { margin: 0 0 1.5rem; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
.brand { margin: 0 0 .5rem; font-weight: 600; color: var(--soft) }
h1, h2, h3, h4 { margin: 2rem 0 .75rem; line-height: 1.25; scroll-margin-top: 1rem }
h1 { margin-top: 0; font-size: 1.8rem }
h2 { font-size: 1.35rem }
h3 { font-size: 1.1rem }
a { color: var(--key) }
a:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--key); outline-offset: 2px }
.anchor { color: var(--soft); font-weight: 400; text-decoration: none }
.picture { color: var(--soft); font-style: italic }
code, pre { font: .875em/1.5 ui-monospace, monospace }
code { padding: .1em .25em; background: var(--back); border-radius: 4px }
pre { padding: 1rem; background: var(--back); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; overflow-wrap: normal }
pre code { padding: 0 }
.table { overflow-x: auto; overflow-wrap: normal; margin: 1rem 0 }
table { border-collapse: collapse }
th, td { padding: .4rem .75rem; border: 1px solid var(--line); text-align: left; vertical-align: top; min-width: 6rem }
th { background: var(--back) }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft) }
hr { border: 0; border-top: 1px solid var(--line) }
@media print { body, main { padding: 0; background: none; border: 0 } nav, .anchor { display: none } }
`

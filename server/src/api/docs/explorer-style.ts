/** Corrections of Swagger UI's colors, and the link above it: text needs a contrast of 4.5:1 with its background (WCAG 2.2, 1.4.3). */
export const explorerStyle = `html:not(.dark-mode) .swagger-ui .info :is(a, .link, .link span) { color: #1a62b0 }
html:not(.dark-mode) .swagger-ui .info .title small { background: #59606e }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4a6a00 }
html:not(.dark-mode) .swagger-ui .btn:is(.authorize, .modal-btn) { color: #137a4b; border-color: #137a4b }
html:not(.dark-mode) .swagger-ui .btn.authorize :is(span, svg) { color: #137a4b; fill: #137a4b }
html:not(.dark-mode) .swagger-ui .btn.cancel { color: #b3161b; border-color: #b3161b }
html:not(.dark-mode) .swagger-ui .btn.execute { background: #1a62b0; border-color: #1a62b0 }
html:not(.dark-mode) .swagger-ui .download-contents { background: #59606e }
html:not(.dark-mode) .swagger-ui .parameter__in { color: #565656 }
html:not(.dark-mode) .swagger-ui :is(.parameter__name.required span, .parameter__name.required::after) { color: #b3161b }
html:not(.dark-mode) .swagger-ui :is(.markdown, .renderedMarkdown) code { color: #6a0bc0 }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #1a62b0 }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #137a4b }
html:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #0f766e }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #b3161b }
html:not(.dark-mode) .swagger-ui [class*="json-schema-2020-12"] :is(p, button) { color: #4a4a4a }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #4a4a4a }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12__constraint { background: #7a5200 }
html.dark-mode .swagger-ui .header-col { color: #e4e6e6 }
.guides { margin: 0; padding: .75rem 1.25rem; font: 14px/1.5 sans-serif; text-align: right }
html:not(.dark-mode) .guides a { color: #1a62b0 }
html.dark-mode .guides a { color: #93a5ff }
.swagger-ui .json-schema-2020-12__constraint { overflow-wrap: anywhere }
`

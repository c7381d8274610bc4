import type { Schema } from '../model/json.ts'

/** Parameters, schemas and responses that operations reference by name, so that each occurs once in the document. */
export class Components {
  readonly parameters: Record<string, Schema> = {}
  readonly schemas: Record<string, Schema> = {}
  readonly responses: Record<string, Schema> = {}

  parameter(name: string, definition: Schema): Schema {
    return addComponent(this.parameters, 'parameters', name, definition)
  }

  schema(name: string, definition: Schema): Schema {
    return addComponent(this.schemas, 'schemas', name, definition)
  }

  response(name: string, definition: Schema): Schema {
    return addComponent(this.responses, 'responses', name, definition)
  }
}

function addComponent(group: Record<string, Schema>, kind: string, name: string, definition: Schema): Schema {
  const known = group[name]
  if (known && JSON.stringify(known) !== JSON.stringify(definition)) throw new Error(`two ${kind} are called ${name}`)
  group[name] = definition
  return { $ref: `#/components/${kind}/${name}` }
}

/** One instruction of a Dockerfile. */
export interface Instruction {
  name: string
  /** Flags such as `--from=build`, without the dashes. */
  flags: Readonly<Record<string, string>>
  text: string
  args: readonly string[]
}

export interface BuildStage {
  image: string
  name: string | undefined
  instructions: readonly Instruction[]
}

const knownInstructions =
  'ARG FROM ENV WORKDIR COPY RUN USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' ')

/** Parses the Dockerfile subset that ours uses. Throws on instructions that the tests cannot run. */
export function readDockerfile(text: string): BuildStage[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const defaults: Record<string, string> = {}
  const stages: (BuildStage & { instructions: Instruction[] })[] = []
  for (const instruction of lines.map(instructionOf)) {
    const { name, args } = instruction
    if (name === 'ARG') {
      const [argument = '', value = ''] = instruction.text.split('=')
      defaults[argument] = value
    } else if (name === 'FROM') {
      const image = (args[0] ?? '').replace(/^\$\{(\w+)\}$/, (_, argument: string) => defaults[argument] ?? '')
      stages.push({ image, name: args[1]?.toLowerCase() === 'as' ? args[2] : undefined, instructions: [] })
    } else stages.at(-1)?.instructions.push(instruction)
  }
  return stages
}

function instructionOf(line: string): Instruction {
  const [, name = '', given = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
  if (!knownInstructions.includes(name) || line.endsWith('\\'))
    throw new Error(`Dockerfile line not understood: ${line}`)
  const flags: Record<string, string> = {}
  const text = given.replace(/--([a-z-]+)=(\S+) +/g, (whole, flag: string, value: string, at: number) => {
    if (name !== 'COPY' && name !== 'HEALTHCHECK') return whole
    if (at > 0 && given.slice(0, at).replace(/--[a-z-]+=\S+ +/g, '') !== '') return whole
    flags[flag] = value
    return ''
  })
  return { name, flags, text, args: parseArgs(text) }
}

const parseArgs = (text: string): string[] => {
  const list = text.replace(/^CMD /, '')
  return list.startsWith('[') ? (JSON.parse(list) as string[]) : text.split(/ +/)
}

/** Whether .dockerignore includes this file in the build context. The last matching pattern decides. */
export function isInBuildContext(ignore: string, path: string): boolean {
  let isIncluded = true
  for (const line of ignore.split('\n').filter((pattern) => pattern.trim() !== '' && !pattern.startsWith('#'))) {
    const isException = line.startsWith('!')
    if (matches(isException ? line.slice(1) : line, path)) isIncluded = isException
  }
  return isIncluded
}

/** A pattern matches a file if it matches the file or one of its parent folders. */
function matches(pattern: string, path: string): boolean {
  const expression = pattern
    .split(/(\*\*\/|\*)/)
    .map((part) => ({ '**/': '(?:.*/)?', '*': '[^/]*' })[part] ?? part.replace(/[.?+^$()[\]{}|\\]/g, '\\$&'))
    .join('')
  return new RegExp(`^${expression}(?:/|$)`).test(path)
}

import {
  type CommandEntry,
  choice,
  type Noun,
  optionName,
  type Parameter,
  required,
  type Verb,
  verb,
} from "../command.ts";
import { optionsOf } from "../parse-line.ts";

/** A position on the command line with its possible words. */
interface Place {
  /** The command so far, such as `client create`; empty for the first word. */
  readonly path: string;
  readonly words: readonly (readonly [word: string, help: string])[];
  /** Options with their choices; none for a file or free text. */
  readonly values: readonly (readonly [option: string, choices: readonly string[]])[];
}

function placeOf(path: string, one: Verb | undefined, verbs: Readonly<Record<string, Verb>>): Place {
  const options: (readonly [string, Parameter<unknown>])[] = one === undefined ? [] : optionsOf(one);
  const argumentChoices = Object.values(one?.args ?? {}).flatMap(({ choices = [], help }) =>
    choices.map((word) => [word, help] as const),
  );
  return {
    path,
    words: [
      ...Object.entries(verbs).map(([name, { summary }]) => [name, summary] as const),
      ...argumentChoices,
      ...options.map(([key, { help }]) => [optionName(key), help] as const),
      ["--help", "show help"],
    ],
    values: options.flatMap(([key, { value, choices = [] }]) =>
      value === undefined ? [] : [[optionName(key), choices] as const],
    ),
  };
}

async function placesOf(commands: readonly CommandEntry[]): Promise<Place[]> {
  const names = commands.map(({ name, summary }) => [name, summary] as const);
  const first: Place = { path: "", words: [...names, ["--help", "show help"]], values: [] };
  const rest = await Promise.all(
    commands.map(async ({ name, load }) => {
      const { own, verbs = {} } = await load();
      const inner = Object.entries(verbs).map(([verbName, one]) => placeOf(`${name} ${verbName}`, one, {}));
      return [placeOf(name, own, verbs), ...inner];
    }),
  );
  return [first, ...rest.flat()];
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** A `case` branch for each option with choices, and one for all with a file or free text. */
function valueCases(
  all: readonly Place[],
  choose: (choices: readonly string[]) => string,
  leave: string,
): string {
  const named = all.flatMap(({ path, values }) =>
    values.map(([option, choices]) => [quoted(`${path} ${option}`), choices] as const),
  );
  const chosen = named.filter(([, choices]) => choices.length > 0);
  const free = named.filter(([, choices]) => choices.length === 0).map(([name]) => name);
  const branches = [...chosen.map(([name, choices]) => [name, choose(choices)]), [free.join("|"), leave]];
  return branches.map(([name, action]) => `    ${name}) ${action}; return ;;`).join("\n");
}

/** Without a match bash completes files (`-o default`). */
function bash(all: readonly Place[]): string {
  const words = all.map(
    (place) => `    ${quoted(place.path)}) echo ${place.words.map(([word]) => word).join(" ")} ;;`,
  );
  const choose = (choices: readonly string[]) =>
    `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$current"))`;
  return `# bash completion of bellhop: source <(bellhop completion bash)
_bellhop_words() {
  case "$1" in
${words.join("\n")}
  esac
}
_bellhop() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} place='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD<3?COMP_CWORD-1:2}"; do
    [[ -n $(_bellhop_words "\${place:+$place }$word") ]] || break
    place=\${place:+$place }$word
  done
  COMPREPLY=()
  case "$place $previous" in
${valueCases(all, choose, ":")}
  esac
  for word in $(_bellhop_words "$place"); do
    if [[ $word == "$current"* && ( $word != -* || $current == -* ) ]]; then COMPREPLY+=("$word"); fi
  done
}
complete -o default -F _bellhop bellhop
`;
}

function zsh(all: readonly Place[]): string {
  const described = ({ words }: Place) => words.map(([word, help]) => quoted(`${word}:${help}`)).join(" ");
  const cases = all.map((place) => `    ${quoted(place.path)}) offered=(${described(place)}) ;;`);
  const choose = (choices: readonly string[]) => `compadd -- ${choices.map(quoted).join(" ")}`;
  return `#compdef bellhop
# zsh completion of bellhop: bellhop completion zsh > ~/.zfunc/_bellhop
_bellhop() {
  local -a offered places=(${all.map(({ path }) => quoted(path)).join(" ")})
  local place='' word
  for word in \${words[2,CURRENT-1]}; do
    (( \${places[(Ie)\${place:+$place }$word]} )) || break
    place=\${place:+$place }$word
  done
  case "$place \${words[CURRENT-1]}" in
${valueCases(all, choose, "_files")}
  esac
  case "$place" in
${cases.join("\n")}
  esac
  [[ \${words[CURRENT]} == -* ]] || offered=(\${offered:#--*})
  if (( $#offered )); then _describe bellhop offered; else _files; fi
}
if [[ $funcstack[1] == _bellhop ]]; then _bellhop "$@"; else compdef _bellhop bellhop; fi
`;
}

function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, words, values }) =>
    words.map(([word, help]) => {
      const at = `complete -c bellhop -n ${quoted(`__bellhop_at ${quoted(path)}`)} -d ${quoted(help)}`;
      if (!word.startsWith("--")) return `${at} -f -a ${quoted(word)}`;
      const choices = values.find(([option]) => option === word)?.[1];
      const value =
        choices === undefined ? "" : choices.length === 0 ? " -r" : ` -x -a ${quoted(choices.join(" "))}`;
      return `${at} -l ${word.slice(2)}${value}`;
    }),
  );
  return `# fish completion of bellhop: bellhop completion fish > ~/.config/fish/completions/bellhop.fish
function __bellhop_at
  set -l places ${all.map(({ path }) => quoted(path)).join(" ")}
  set -l place ''
  for word in (commandline -opc)[2..]
    contains -- (string trim -- "$place $word") $places; or break
    set place (string trim -- "$place $word")
  end
  test "$place" = "$argv[1]"
end
${lines.join("\n")}
`;
}

const SHELLS = { bash, zsh, fish } as const;

const own = verb({
  summary: "print a completion script for bash, zsh or fish",
  details: "Completes the command bellhop, which may be an alias or a script on the PATH.",
  args: { shell: required(choice("SHELL", ["bash", "zsh", "fish"], "the shell")) },
  examples: [
    "completion bash > /etc/bash_completion.d/bellhop",
    "completion zsh > ~/.zfunc/_bellhop",
    "completion fish > ~/.config/fish/completions/bellhop.fish",
  ],
  run: async ({ shell }, { output, commands }) => {
    output.line(SHELLS[shell](await placesOf(commands)).trimEnd());
  },
});

export const command: Noun = { own };

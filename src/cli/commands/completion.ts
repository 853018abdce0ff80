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

/** One place of a command line: the words that may stand there. */
interface Place {
  /** The command so far, such as `client create`; empty for the first word. */
  readonly path: string;
  readonly words: readonly (readonly [word: string, help: string])[];
  /** Options with their choices; no choices: a file or free text. */
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
const wordsOf = ({ words }: Place): string => words.map(([word]) => word).join(" ");

function bash(all: readonly Place[]): string {
  const cases = all.map((place) => `    ${quoted(place.path)}) words=${quoted(wordsOf(place))} ;;`);
  const choices = all.flatMap(({ path, values }) =>
    values.map(
      ([option, of]) =>
        `    ${quoted(`${path} ${option}`)}) values=${quoted(of.join(" "))}; files=${of.length === 0 ? 1 : 0} ;;`,
    ),
  );
  return `# bash completion of bellhop: source <(bellhop completion bash)
_bellhop() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' values='' files=''
  local index word
  for ((index = 1; index < COMP_CWORD && index < 3; index++)); do
    word=\${COMP_WORDS[index]}
    [[ $word == -* ]] && break
    case " $(_bellhop_words "$path") " in *" $word "*) path=\${path:+$path }$word ;; *) break ;; esac
  done
  case "$path $previous" in
${choices.join("\n")}
  esac
  if [[ $files == 1 ]]; then COMPREPLY=($(compgen -f -- "$current")); return; fi
  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$current")); return; fi
  COMPREPLY=($(compgen -W "$(_bellhop_words "$path")" -- "$current"))
}
_bellhop_words() {
  local words=''
  case "$1" in
${cases.join("\n")}
  esac
  printf '%s' "$words"
}
complete -o default -F _bellhop bellhop
`;
}

function zsh(all: readonly Place[]): string {
  const described = ({ words }: Place) =>
    words.map(([word, help]) => quoted(`${word.replaceAll(":", "\\:")}:${help}`)).join(" ");
  const cases = all.map((place) => `    ${quoted(place.path)}) words_here=(${described(place)}) ;;`);
  const choices = all.flatMap(({ path, values }) =>
    values.map(
      ([option, of]) =>
        `    ${quoted(`${path} ${option}`)}) ${of.length === 0 ? "_files" : `compadd -- ${of.map(quoted).join(" ")}`}; return ;;`,
    ),
  );
  const paths = all.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `#compdef bellhop
# zsh completion of bellhop: bellhop completion zsh > "\${fpath[1]}/_bellhop"
_bellhop() {
  local -a words_here
  local place='' index
  local -a places=(${paths.join(" ")})
  for ((index = 2; index < CURRENT && index < 4; index++)); do
    local next="\${place:+$place }\${words[index]}"
    (( \${places[(Ie)$next]} )) || break
    place=$next
  done
  case "$place \${words[CURRENT-1]}" in
${choices.join("\n")}
  esac
  case "$place" in
${cases.join("\n")}
  esac
  _describe 'bellhop' words_here || _files
}
if [[ $funcstack[1] == _bellhop ]]; then _bellhop "$@"; else compdef _bellhop bellhop; fi
`;
}

function fish(all: readonly Place[]): string {
  const paths = all.filter(({ path }) => path !== "").map(({ path }) => path);
  const nouns = paths.filter((path) => !path.includes(" "));
  const lines = all.flatMap(({ path, words, values }) => {
    const verbs = paths.filter((one) => one.startsWith(`${path} `)).map((one) => one.slice(path.length + 1));
    const seen = path
      .split(" ")
      .filter(Boolean)
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const unseen = path === "" ? nouns : verbs;
    const none = unseen.length === 0 ? [] : [`not __fish_seen_subcommand_from ${unseen.join(" ")}`];
    const condition = quoted([...seen, ...none].join("; and ") || "true");
    return words.map(([word, help]) => {
      if (!word.startsWith("--"))
        return `complete -c bellhop -f -n ${condition} -a ${quoted(word)} -d ${quoted(help)}`;
      const of = values.find(([option]) => option === word)?.[1];
      const value = of === undefined ? "" : of.length === 0 ? " -r" : ` -x -a ${quoted(of.join(" "))}`;
      return `complete -c bellhop -n ${condition} -l ${word.slice(2)}${value} -d ${quoted(help)}`;
    });
  });
  return `# fish completion of bellhop: bellhop completion fish > ~/.config/fish/completions/bellhop.fish\n${lines.join("\n")}\n`;
}

const SHELLS = { bash, zsh, fish } as const;

const own = verb({
  summary: "print a completion script for bash, zsh or fish",
  details:
    "Completes a command that your shell knows as bellhop, such as an alias or a script of that name on the PATH.",
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

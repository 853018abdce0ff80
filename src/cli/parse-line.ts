import { CommanderError, Help, Option, Command as Parser } from "commander";
import { OperatorError, UsageError } from "../platform/errors/operator-error.ts";
import {
  flag,
  listText,
  type Noun,
  optionName,
  type Parameter,
  type Parameters,
  type Verb,
} from "./command.ts";
import { fields } from "./output.ts";

const HELP_COLUMNS = 100;
/** Longer lists of commands are only shown by --help. */
const LISTED_MAX = 12;

const helpColumns = (): number => Math.max(process.stdout.columns ?? HELP_COLUMNS, 60);

/** A commander parser that throws errors instead of printing and exiting. */
function newParser(path: string): Parser {
  return new Parser(path)
    .exitOverride()
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .configureOutput({
      writeErr: () => undefined,
      getOutHelpWidth: helpColumns,
      getOutHasColors: () => false,
    })
    .configureHelp({ optionTerm: (option) => option.flags.replace(/<([^<>]+)>/, "$1") });
}

/** The options of a verb by name, including --json. */
export function optionsOf({ options, json }: Verb): [key: string, option: Parameter<unknown>][] {
  const all = Object.entries(options);
  return json === undefined ? all : [...all, ["json", flag("print one JSON object instead of text")]];
}

function describe({ help, byDefault, choices, isMany }: Parameter<unknown>, more: string): string {
  const facts = [
    more,
    isMany === true ? "may be repeated" : "",
    choices === undefined ? "" : listText(choices),
    byDefault === undefined ? "" : `default: ${byDefault}`,
  ].filter(Boolean);
  return facts.length === 0 ? help : `${help} (${facts.join("; ")})`;
}

function usageOf({ args, options }: Verb): string {
  const named = Object.values(args).map(({ value, isRequired, isMany }) => {
    const shown = isMany === true ? `${value} ...` : value;
    return isRequired === true ? shown : `[${shown}]`;
  });
  const needed = Object.entries(options)
    .filter(([, option]) => option.isRequired === true)
    .map(([key, { value, isMany }]) => `${optionName(key)} ${value}${isMany === true ? " ..." : ""}`);
  return [...named, ...needed, "[options]"].join(" ");
}

/** Collects an option's values. A value with a leading dash is an error unless it follows `=`, as it is probably another option. */
function collected(argv: readonly string[], name: string) {
  return (text: string, before: string[] | undefined): string[] => {
    if (text.length > 1 && text.startsWith("-") && argv.includes(text))
      throw new UsageError(`${name} needs a value; write ${name}=${text} if ${text} is meant.`);
    return [...(before ?? []), text];
  };
}

function parserOf(path: string, declared: Verb, argv: readonly string[]): Parser {
  const parser = newParser(path).allowExcessArguments();
  const { summary, details, args } = declared;
  const paragraphs = [sentence(summary), details ?? []].flat();
  parser.description(paragraphs.join("\n\n")).usage(usageOf(declared));
  for (const [key, arg] of Object.entries(args)) {
    const name = optionName(key);
    parser.argument(`[${arg.value}]`, describe(arg, arg.isAlsoOption === true ? `also as ${name}` : ""));
    if (arg.isAlsoOption === true)
      parser.addOption(new Option(`${name} <x>`).hideHelp().argParser(collected(argv, name)));
  }
  for (const [key, option] of optionsOf(declared)) {
    const name = optionName(key);
    const flags = option.value === undefined ? name : `${name} <${option.value}>`;
    const added = new Option(flags, describe(option, option.isRequired === true ? "required" : ""));
    parser.addOption(option.value === undefined ? added : added.argParser(collected(argv, name)));
  }
  return parser.addHelpText("after", `\n${sectionsOf(declared).join("\n\n")}`);
}

/** `run the service` as a sentence. */
const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;

/** Sections below the options. */
function sectionsOf({ list, json, exitCodes, examples }: Verb): string[] {
  const wrap = (text: string) => new Help().boxWrap(text, helpColumns());
  return [
    list === undefined ? [] : `${list.title}:\n${fields(list.items).join("\n")}`,
    json === undefined ? [] : wrap(`With --json: ${json}`),
    exitCodes === undefined ? [] : wrap(`Exit codes: ${exitCodes}`),
    `Examples:\n${examples.map((line) => `  bellhop ${line}`).join("\n")}`,
  ].flat();
}

/** `--help` of a verb. */
export function helpOfVerb(path: string, declared: Verb): string {
  return helpText(parserOf(path, declared, []));
}

/** Captures commander's output, which addHelpText appends to. */
function helpText(parser: Parser): string {
  const parts: string[] = [];
  parser.configureOutput({ ...parser.configureOutput(), writeOut: (part) => void parts.push(part) });
  parser.outputHelp();
  return parts.join("").trimEnd();
}

function parserOfNoun(path: string, summary: string, verbs: Readonly<Record<string, Verb>>): Parser {
  const parser = newParser(path).description(sentence(summary)).usage("COMMAND [options]");
  for (const [name, { summary: what }] of Object.entries(verbs)) parser.command(name).summary(what);
  return parser.configureHelp({ ...parser.configureHelp(), subcommandTerm: (command) => command.name() });
}

/** `--help` of a noun: its verbs, and the usage of its default verb. */
export function helpOfNoun(path: string, summary: string, { verbs = {}, own }: Noun): string {
  const more = `Run ${path} COMMAND --help for the options and examples of a command.`;
  if (own !== undefined) {
    const list = fields(Object.entries(verbs).map(([name, one]) => [name, one.summary]));
    return `${helpOfVerb(path, own)}\n\nCommands:\n${list.join("\n")}\n\n${more}`;
  }
  const examples = Object.values(verbs).map((one) => `  bellhop ${one.examples[0]}`);
  const text = helpText(parserOfNoun(path, summary, verbs));
  return `${text}\n\nExamples:\n${examples.join("\n")}\n\n${more}`;
}

/** The usage error for an unknown command, with the nearest one. */
export function unknownCommand(path: string, word: string, names: readonly string[]): UsageError {
  const parser = newParser(path);
  for (const name of names) parser.command(name);
  const near = messageOf(() => parser.parse([word], { from: "user" }));
  const suggestedAt = near.lastIndexOf(" Did you mean ");
  const suggestion = suggestedAt === -1 ? "" : near.slice(suggestedAt);
  const list = names.length > LISTED_MAX ? "" : ` The commands are ${names.join(", ")}.`;
  return new UsageError(`Unknown command ${JSON.stringify(word)}.${suggestion}${list}`);
}

function messageOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return error instanceof CommanderError ? wordsOf(error) : String(error);
  }
}

/** Commander's message as a sentence. */
function wordsOf({ code, message }: CommanderError): string {
  const [said = "", near] = message.replace(/^error: /, "").split("\n");
  const [, meant] = /^\(Did you mean (?:one of )?(.+)\?\)$/.exec(near ?? "") ?? [];
  const [, option] = /option '(\S+)/.exec(said) ?? [];
  const sentence =
    code === "commander.optionMissingArgument"
      ? `${option} needs a value.`
      : `${said.slice(0, 1).toUpperCase()}${said.slice(1)}.`;
  // Ids of signing keys may start with a dash.
  if (option !== undefined && !option.startsWith("--"))
    return `${sentence} Write -- before an argument that begins with a dash.`;
  return meant === undefined ? sentence : `${sentence} Did you mean ${meant}?`;
}

/** Parses the arguments of a verb. Throws UsageError. */
export function parseLine(
  path: string,
  declared: Verb,
  argv: readonly string[],
): Readonly<Record<string, unknown>> {
  const parser = parserOf(path, declared, argv);
  try {
    parser.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UsageError(wordsOf(error), { cause: error });
  }
  return { ...readArgs(parser, declared.args), ...readOptions(parser, declared) };
}

function givenOf(parser: Parser, key: string): readonly string[] {
  const option = parser.options.find(({ long }) => long === optionName(key));
  const attribute = option?.attributeName() ?? key;
  if (parser.getOptionValueSource(attribute) !== "cli") return [];
  const value: unknown = parser.getOptionValue(attribute);
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

function readArgs(parser: Parser, args: Parameters): Record<string, unknown> {
  const words = [...parser.args];
  const values: Record<string, unknown> = {};
  for (const [key, arg] of Object.entries(args)) {
    const byOption = arg.isAlsoOption === true ? givenOf(parser, key) : [];
    const given = byOption.length > 0 ? byOption : words.splice(0, arg.isMany === true ? words.length : 1);
    values[key] = read(
      arg,
      given,
      arg.isAlsoOption && byOption.length > 0 ? optionName(key) : (arg.value ?? key),
    );
  }
  if (words[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(words[0])}.`);
  return values;
}

function readOptions(parser: Parser, declared: Verb): Record<string, unknown> {
  const entries = optionsOf(declared);
  return Object.fromEntries(
    entries.map(([key, option]) => [key, read(option, givenOf(parser, key), optionName(key))]),
  );
}

/** Any OperatorError of a value becomes a UsageError. */
function read(parameter: Parameter<unknown>, given: readonly string[], name: string): unknown {
  try {
    return parameter.read(given, name);
  } catch (error) {
    if (!(error instanceof OperatorError) || error instanceof UsageError) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

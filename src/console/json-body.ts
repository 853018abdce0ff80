import type { Grant } from "../identity/grants.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";

const TEXT_CHARACTERS_MAX = 1_000;
const LIST_ENTRIES_MAX = 20_000;

function invalid(message: string): ConsoleError {
  return new ConsoleError("bellhop.console.InvalidInput", { message });
}

/** The form of a change. Unknown fields are errors, because ignoring one would lose the operator's intent. */
export class JsonBody {
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(bytes: Buffer, allowed: readonly string[]) {
    const fields = parseObject(bytes);
    for (const name of fields.keys()) {
      if (!allowed.includes(name)) {
        const known = allowed.length === 0 ? "nothing" : allowed.join(", ");
        throw invalid(`${JSON.stringify(name.slice(0, 40))} is not known; this form accepts ${known}.`);
      }
    }
    this.#fields = fields;
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  text(name: string, charactersMax = TEXT_CHARACTERS_MAX): string | undefined {
    const value = this.#fields.get(name);
    if (value === undefined) return undefined;
    if (
      typeof value !== "string" ||
      value === "" ||
      value.length > charactersMax ||
      value.includes("\0") ||
      !value.isWellFormed()
    ) {
      throw invalid(`${name} must be a string of 1 to ${charactersMax} characters.`);
    }
    return value;
  }

  requiredText(name: string, charactersMax?: number): string {
    const value = this.text(name, charactersMax);
    if (value === undefined) throw invalid(`${name} is missing.`);
    return value;
  }

  count(name: string): number | undefined {
    const value = this.#fields.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
      throw invalid(`${name} must be a whole number.`);
    return value;
  }

  countOrNull(name: string): number | null | undefined {
    return this.#fields.get(name) === null ? null : this.count(name);
  }

  requiredFlag(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value !== "boolean") throw invalid(`${name} must be true or false.`);
    return value;
  }

  /** The values of the changed fields that the form showed when it was opened. */
  shown(): Readonly<Record<string, unknown>> {
    const value = this.#fields.get("shown");
    if (value === undefined) return {};
    if (typeof value !== "object" || value === null) throw invalid("shown must be an object.");
    return value as Record<string, unknown>;
  }

  texts(name: string): readonly string[] | undefined {
    return this.#list(name, (entry) => {
      if (typeof entry !== "string" || entry.length > TEXT_CHARACTERS_MAX || !entry.isWellFormed())
        throw invalid(`${name} must be an array of strings.`);
      return entry;
    });
  }

  grants(name: string): readonly Grant[] | undefined {
    return this.#list(name, (entry) => {
      const { clientCode, propertyCode } = (
        typeof entry === "object" && entry !== null ? entry : {}
      ) as Record<string, unknown>;
      if (typeof clientCode !== "string" || typeof propertyCode !== "string")
        throw invalid(`${name} must be an array of {clientCode, propertyCode}.`);
      return { clientCode, propertyCode };
    });
  }

  #list<Entry>(name: string, read: (entry: unknown) => Entry): readonly Entry[] | undefined {
    const value = this.#fields.get(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.length > LIST_ENTRIES_MAX)
      throw invalid(`${name} must have at most ${LIST_ENTRIES_MAX} entries.`);
    return (value as unknown[]).map(read);
  }
}

function parseObject(bytes: Buffer): ReadonlyMap<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ConsoleError("bellhop.console.InvalidInput", { message: "The form must be JSON.", cause });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw invalid("The form must be a JSON object.");
  return new Map(Object.entries(parsed));
}

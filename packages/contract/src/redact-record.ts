import { NOTED, SOUGHT } from "./record-plan.ts";
import { byResource, type Resource } from "./resource.ts";
import { type FieldSchema, isBlank } from "./schema/field.ts";
import { FIELDS, RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { skipValue, skipWhitespace, UNSURE } from "./walk-value.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** How to redact a value: `keep` its bytes, replace its JSON by a function, or descend into members (`others`: unnamed ones) or items. */
export type MemberRule = "keep" | ((json: Buffer) => Buffer) | InnerRule;

interface InnerRule {
  readonly members?: ReadonlyMap<string, MemberRule>;
  readonly others?: "keep" | "drop";
  readonly items?: MemberRule;
}

/** Does not occur for accepted records. */
class NotJson extends Error {}

function ended(at: number): number {
  if (at === UNSURE) throw new NotJson("A record that was accepted is no JSON.");
  return at;
}

const NOTHING = Buffer.alloc(0);
const ONE_COMMA = Buffer.from(",");

/** Walks one value and collects replacements; bytes between them are kept. */
class Rewriting {
  readonly #bytes: Buffer;
  readonly #pieces: Buffer[] = [];
  #keptFrom = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The rewritten bytes; the original buffer if there are no replacements. */
  result(): Buffer {
    if (this.#pieces.length === 0) return this.#bytes;
    return Buffer.concat([...this.#pieces, this.#bytes.subarray(this.#keptFrom)]);
  }

  /** Applies a rule to the value at `at` and returns its end. */
  value(at: number, rule: MemberRule): number {
    const first = this.#bytes[at];
    if (typeof rule === "object") {
      if (first === OPEN_OBJECT && rule.members !== undefined) return this.#object(at, rule);
      if (first === OPEN_ARRAY && rule.items !== undefined) return this.#array(at, rule.items);
    }
    const end = ended(skipValue(this.#bytes, at));
    if (typeof rule !== "function") return end;
    const json = this.#bytes.subarray(at, end);
    const written = rule(json);
    if (written !== json) this.#replace(at, end, written);
    return end;
  }

  #object(start: number, rule: InnerRule): number {
    // End of the last kept member or of the brace: members dropped after it are removed with the next replacement.
    let keptEnd = start + 1;
    let hasKept = false;
    let hasDropped = false;
    let at = this.#space(start + 1);
    while (this.#bytes[at] === QUOTE) {
      const memberAt = at;
      const nameEnd = ended(skipValue(this.#bytes, at));
      const of = rule.members?.get(this.#nameAt(at, nameEnd)) ?? rule.others ?? "keep";
      at = this.#space(nameEnd);
      if (this.#bytes[at] !== COLON) throw new NotJson("A name has no colon.");
      at = this.#space(at + 1);
      if (of === "drop") {
        hasDropped = true;
        at = ended(skipValue(this.#bytes, at));
      } else {
        if (hasDropped) this.#replace(keptEnd, memberAt, hasKept ? ONE_COMMA : NOTHING);
        [hasKept, hasDropped] = [true, false];
        at = this.value(at, of);
        keptEnd = at;
      }
      at = this.#space(at);
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_OBJECT) throw new NotJson("An object is not closed.");
    if (hasDropped) this.#replace(keptEnd, at, NOTHING);
    return at + 1;
  }

  #array(start: number, items: MemberRule): number {
    let at = this.#space(start + 1);
    while (this.#bytes[at] !== CLOSE_ARRAY) {
      at = this.#space(this.value(at, items));
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_ARRAY) throw new NotJson("An array is not closed.");
    return at + 1;
  }

  /** The name between the quotes, decoded if it has escapes. */
  #nameAt(start: number, end: number): string {
    const name = this.#bytes.subarray(start + 1, end - 1);
    return name.includes(BACKSLASH)
      ? (JSON.parse(this.#bytes.toString("utf8", start, end)) as string)
      : name.toString("utf8");
  }

  /** Must be called in order of position. */
  #replace(from: number, to: number, written: Buffer): void {
    this.#pieces.push(this.#bytes.subarray(this.#keptFrom, from), written);
    this.#keptFrom = to;
  }

  #space(at: number): number {
    return skipWhitespace(this.#bytes, at);
  }
}

/** Rewrites a JSON object or array by a rule. Kept values keep their bytes; returns `json` itself if nothing changes. */
export function rewriteMembers(json: Buffer, rule: MemberRule): Buffer {
  const rewriting = new Rewriting(json);
  rewriting.value(skipWhitespace(json, 0), rule);
  return rewriting.result();
}

/** A field that may identify a person. */
interface PersonalField {
  /** From the record to the field; `*` stands for every item of a list. */
  readonly path: string;
  /** The text alone identifies a person, so an erasure also searches other members for it. */
  readonly identifies?: true;
}

/**
 * The fields that may contain personal data, which an erasure removes (docs/privacy.md gives the reasons), together with members that the
 * contract does not name. No count, outcome or figure depends on them.
 */
export const PERSONAL_FIELDS = byResource((resource): readonly PersonalField[] =>
  FIELDS[resource].flatMap(({ path, field: { notes } }) =>
    notes?.personal === undefined
      ? []
      : {
          path: path.replaceAll("[]", "/*").replaceAll(".", "/"),
          ...(notes.personal === "identifies" ? { identifies: true } : {}),
        },
  ),
);

/** An erasure finds guests by the id; the setting `personalData: strip` hashes the name on arrival. */
const PROFILE_ID = "profiles/*/id";
const PROFILE_NAME = "profiles/*/name";

/** Replaces an erased text. */
export const ERASED = "[erased]";
const ERASED_JSON = Buffer.from(JSON.stringify(ERASED));
const NO_ITEMS = Buffer.from("[]");

/** Erases lists and texts. Null, booleans and numbers do not identify a person, nor do blank texts, which facts read as absent. */
function erasedJson(json: Buffer): Buffer {
  if (json[0] === OPEN_ARRAY) return NO_ITEMS;
  return json[0] === QUOTE && !isBlank(JSON.parse(json.toString("utf8")) as string) ? ERASED_JSON : json;
}

/** The rule that keeps members of the contract, redacts personal ones, and drops the rest. */
function ruleOf(schema: FieldSchema, path: string, personal: ReadonlyMap<string, MemberRule>): MemberRule {
  const own = personal.get(path);
  if (own !== undefined) return own;
  if (schema.items !== undefined) return { items: ruleOf(schema.items, `${path}/*`, personal) };
  if (schema.properties === undefined) return "keep";
  const members = new Map<string, MemberRule>();
  for (const [name, member] of Object.entries(schema.properties))
    members.set(name, ruleOf(member, path === "" ? name : `${path}/${name}`, personal));
  return { members, others: "drop" };
}

const erasingRules = byResource((resource) => {
  const personal = new Map(PERSONAL_FIELDS[resource].map(({ path }) => [path, erasedJson]));
  return ruleOf(RECORD_SCHEMAS[resource], "", personal);
});

/** Removes personal data (PERSONAL_FIELDS) from an accepted record. The result is a valid record with otherwise equal facts. Idempotent. */
export function redactRecord(resource: Resource, bytes: Buffer): Buffer {
  return rewriteMembers(bytes, erasingRules[resource]);
}

/** A rule for one field by its path that keeps all others. */
function ruleAt(path: readonly string[], rule: MemberRule): MemberRule {
  const [step, ...rest] = path;
  if (step === undefined) return rule;
  const inner = ruleAt(rest, rule);
  return step === "*" ? { items: inner } : { members: new Map([[step, inner]]) };
}

/** Reads the texts at one path of records. */
class TextsAt {
  readonly #rule: MemberRule;
  #texts: string[] = [];

  constructor(path: string) {
    this.#rule = ruleAt(path.split("/"), (json) => {
      if (json[0] === QUOTE) this.#texts.push(JSON.parse(json.toString("utf8")) as string);
      return json;
    });
  }

  of(bytes: Buffer): string[] {
    this.#texts = [];
    rewriteMembers(bytes, this.#rule);
    return this.#texts;
  }
}

const profileIds = new TextsAt(PROFILE_ID);
const profileNames = new TextsAt(PROFILE_NAME);

export function profileIdsOf(bytes: Buffer): string[] {
  return profileIds.of(bytes);
}

export function profileNamesOf(bytes: Buffer): string[] {
  return profileNames.of(bytes);
}

/** The texts of a record that identify a person. */
export function identifyingTextsOf(resource: Resource, bytes: Buffer): string[] {
  return PERSONAL_FIELDS[resource].flatMap(({ path, identifies }) =>
    identifies === true ? new TextsAt(path).of(bytes) : [],
  );
}

/** Replaces the profile names of a reservation by `hashOf`. Equal names give equal hashes, so a changed name remains a change. */
export function hashProfileNames(bytes: Buffer, hashOf: (name: string) => string): Buffer {
  return rewriteMembers(
    bytes,
    ruleAt(PROFILE_NAME.split("/"), (json) =>
      json[0] === QUOTE && json.length > 2
        ? Buffer.from(JSON.stringify(hashOf(JSON.parse(json.toString("utf8")) as string)))
        : json,
    ),
  );
}

/** Accepted codes and keys have at most 128 characters; rejected ones are truncated to this. */
const KEPT_CHARACTERS_MAX = 256;

/** The identity of a rejected record, whose members are unchecked. */
export interface RejectedIdentity {
  /** A JSON object of the three members, as far as they are strings. */
  readonly identity: Buffer;
  readonly clientCode?: string;
  readonly propertyCode?: string;
  readonly key?: string;
}

/** Reduces a rejected record to its identity; to an empty object if it is not JSON. */
export function identityOnly(resource: Resource, bytes: Buffer): RejectedIdentity {
  const fields = membersOf(bytes);
  const keyName = NOTED[resource].sought?.[SOUGHT.key] ?? "";
  const kept = Object.fromEntries(
    ["clientCode", "propertyCode", keyName].flatMap((name) => {
      const value = fields[name];
      return typeof value === "string" && value.length <= KEPT_CHARACTERS_MAX ? [[name, value]] : [];
    }),
  );
  const { clientCode, propertyCode, [keyName]: key } = kept;
  return {
    identity: Buffer.from(JSON.stringify(kept)),
    ...(clientCode === undefined ? {} : { clientCode }),
    ...(propertyCode === undefined ? {} : { propertyCode }),
    ...(key === undefined ? {} : { key }),
  };
}

function membersOf(bytes: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

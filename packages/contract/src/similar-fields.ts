import { ComparedWord, folded } from "./nearest.ts";
import { type FieldKind, type FieldSchema, isObject } from "./schema/field.ts";

/** Longer names are not compared; the longest field has 28 characters. */
const NAME_CHARACTERS_MAX = 40;
/** A name with a digit is the sender's own (`rateCode2`): no field has one. */
const DIGIT = /[0-9]/;
const NAMES_REMEMBERED = 512;

/** The field that a name resembles. */
export interface SimilarField {
  readonly field: string;
  /** Whether they differ only in case and separators. */
  readonly isSpelling: boolean;
}

interface KnownField {
  readonly field: string;
  readonly length: number;
  readonly letters: number;
  readonly editsMax: number;
  readonly compared: ComparedWord;
}

/** The letters of a folded name as bits. */
function lettersOf(name: string): number {
  let letters = 0;
  for (let at = 0; at < name.length; at += 1) letters |= 1 << (name.charCodeAt(at) & 31);
  return letters;
}

function bitsOf(number: number): number {
  let count = 0;
  for (let rest = number; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

const EDITS_MAX = 2;
/** Edits by which a misspelt name may differ: none in short ones, which resemble many words. */
function editsMaxOf({ length }: string): number {
  if (length < 4) return 0;
  return length < 10 ? 1 : EDITS_MAX;
}

const CODES: ReadonlySet<FieldKind> = new Set(["code", "identity", "currency", "word", "flag-or-code"]);
const DATES: ReadonlySet<FieldKind> = new Set(["date", "timestamp"]);
const COUNTS: ReadonlySet<FieldKind> = new Set(["count", "integer"]);
const AFFIXES = /^numberof|code$|count$|date(?:time)?$/g;
/** Names by which senders know a field, and that no rule finds. */
const USUAL_NAMES: ReadonlyMap<string, string> = new Map([["segment", "marketSegmentCode"]]);

const withPlural = (name: string): string[] => [name, name.endsWith("s") ? name.slice(0, -1) : `${name}s`];

/** Folded names of a field with another ending or beginning for its kind (`marketSegment`, `bookingDate`, `adultCount`), or in another number. */
function formsOf(field: string, kind: FieldKind): string[] {
  const name = folded(field);
  const stem = name.replaceAll(AFFIXES, "");
  if (DATES.has(kind)) return [stem, `${stem}date`, `${stem}datetime`];
  if (CODES.has(kind)) return [stem, `${stem}code`].flatMap(withPlural);
  if (!COUNTS.has(kind)) return withPlural(name);
  return withPlural(stem).flatMap((one) => [one, `${one}count`, `numberof${one}`]);
}

/** The fields of an object, compared with names that are none of them. Remembers names, because a feed repeats its own. */
export class FieldNames {
  readonly #spellings: ReadonlyMap<string, SimilarField>;
  readonly #forms = new Map<string, SimilarField>();
  /** Those that a misspelt name may resemble. */
  readonly #known: readonly KnownField[];
  readonly #found = new Map<string, SimilarField | null>();

  constructor(properties: Readonly<Record<string, FieldSchema>>) {
    const names = Object.keys(properties);
    this.#spellings = new Map(names.map((field) => [folded(field), { field, isSpelling: true }]));
    const known = names.map((field): KnownField => {
      const word = folded(field);
      return {
        field,
        length: word.length,
        letters: lettersOf(word),
        editsMax: editsMaxOf(word),
        compared: new ComparedWord(word),
      };
    });
    this.#known = known.filter(({ editsMax }) => editsMax > 0);
    for (const [field, { fieldKind }] of Object.entries(properties))
      this.#addForms(field, formsOf(field, fieldKind));
    for (const [name, field] of USUAL_NAMES)
      if (Object.hasOwn(properties, field)) this.#addForms(field, [name]);
  }

  /** A form of several fields belongs to the first. */
  #addForms(field: string, forms: readonly string[]): void {
    for (const form of forms) if (!this.#forms.has(form)) this.#forms.set(form, { field, isSpelling: false });
  }

  /** The field that `name` resembles most; null if none. */
  similarTo(name: string): SimilarField | null {
    if (this.#spellings.size === 0 || name.length > NAME_CHARACTERS_MAX || DIGIT.test(name)) return null;
    const remembered = this.#found.get(name);
    if (remembered !== undefined) return remembered;
    const similar = this.#compare(folded(name));
    if (this.#found.size === NAMES_REMEMBERED) this.#found.clear();
    this.#found.set(name, similar);
    return similar;
  }

  #compare(name: string): SimilarField | null {
    const spelling = this.#spellings.get(name);
    if (spelling !== undefined) return spelling;
    const letters = lettersOf(name);
    let found: string | undefined;
    let edits = EDITS_MAX + 1;
    for (const { field, length, letters: known, editsMax, compared } of this.#known) {
      const max = Math.min(editsMax, edits - 1);
      // An edit changes at most two letters; this excludes nearly all.
      if (Math.abs(length - name.length) > max || bitsOf(known ^ letters) > 2 * max) continue;
      const count = compared.editsTo(name, max);
      if (count > max) continue;
      found = field;
      edits = count;
    }
    return found === undefined ? (this.#forms.get(name) ?? null) : { field: found, isSpelling: false };
  }
}

/** An unknown field of a record that resembles one that its object lacks, or is one in another spelling. */
export interface MisspeltField {
  readonly path: readonly (string | number)[];
  readonly field: string;
}

/** Unknown names compared in a record, and those listed. */
export const UNKNOWN_NAMES_MAX = 1_000;
const LISTED_MAX = 100;

const namesOf = new WeakMap<FieldSchema, FieldNames>();

/** The comparison of an object's names with its fields, one for each schema. */
export function fieldNamesOf(schema: FieldSchema): FieldNames {
  const known = namesOf.get(schema);
  if (known !== undefined) return known;
  const names = new FieldNames(schema.properties ?? {});
  namesOf.set(schema, names);
  return names;
}

/** The misspelt fields of a parsed record: counted, and the first ones listed. Objects that the contract does not name are skipped. */
export function misspeltFields(
  schema: FieldSchema,
  record: unknown,
): { readonly count: number; readonly listed: readonly MisspeltField[] } {
  const listed: MisspeltField[] = [];
  let count = 0;
  let compared = 0;
  const path: (string | number)[] = [];
  const visit = (own: FieldSchema, value: unknown): void => {
    const { properties, items } = own;
    if (items?.properties !== undefined && Array.isArray(value)) {
      for (const [at, item] of value.entries()) {
        path.push(at);
        visit(items, item);
        path.pop();
      }
      return;
    }
    if (properties === undefined || !isObject(value)) return;
    for (const name in value) {
      const field = properties[name];
      path.push(name);
      if (field !== undefined) visit(field, value[name]);
      else if (compared < UNKNOWN_NAMES_MAX) {
        compared += 1;
        const similar = fieldNamesOf(own).similarTo(name);
        if (similar !== null && (similar.isSpelling || value[similar.field] === undefined)) {
          count += 1;
          if (listed.length < LISTED_MAX) listed.push({ path: [...path], field: similar.field });
        }
      }
      path.pop();
    }
  };
  visit(schema, record);
  return { count, listed };
}

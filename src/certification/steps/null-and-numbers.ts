import { FIELDS } from "#contract/schema/record-schemas.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  latestOf,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** Error codes of a batch refused for a null or a number in an unaccepted form. */
const FORM_CODES: ReadonlySet<string> = new Set([
  "null",
  "type",
  "number.integer",
  "number.range",
  "number.decimal",
  "number.unsafe",
]);
/** The names of the fields of a reservation that may be null, at any depth. */
const NULLABLE: ReadonlySet<string> = new Set(
  FIELDS.reservations
    .filter(({ field }) => field.nullable)
    .map(({ path }) => path.slice(path.lastIndexOf(".") + 1)),
);
/** Such as `129.90000000000001`: the rounding error of binary fractions. */
const LEFT_BY_BINARY = /^-?\d+\.\d{9,}$/;
const MONEY = /(?:Value|Rate|Revenue|Price|rate)$/;
/** Of an amount that is shown. */
const CHARACTERS_SHOWN = 40;
const NULL_VALUE = /"(\w+)":null/g;
const NUMBER_AS_TEXT = /"(\w+)":"-?\d/g;
const MONEY_AS_TEXT = /^(?:rateValue|grossRateValue|grossTotalRevenue|net\w+)$|[tT]icketPrice$/;

/** Whether a field of the record that may be null is null. */
function hasNull(fields: Readonly<Record<string, unknown>>): boolean {
  return JSON.stringify(fields)
    .matchAll(NULL_VALUE)
    .some(([, name = ""]) => NULLABLE.has(name));
}

/** Whether an amount of the record is a string. */
function hasMoneyAsText(fields: Readonly<Record<string, unknown>>): boolean {
  const members = JSON.stringify(fields).matchAll(NUMBER_AS_TEXT);
  return members.some(([, name = ""]) => MONEY_AS_TEXT.test(name));
}

/** A money value with a binary rounding error, and its JSON pointer. Each name is read once, as pointers together may be far longer. */
function binaryFraction(value: unknown, name: string): { amount: string; pointer: string } | undefined {
  if (typeof value === "object" && value !== null) {
    for (const [own, item] of Object.entries(value)) {
      const found = binaryFraction(item, own);
      if (found !== undefined) return { ...found, pointer: `/${name}${found.pointer}` };
    }
    return undefined;
  }
  const isMoney = (typeof value === "string" || typeof value === "number") && MONEY.test(name);
  if (!isMoney || !LEFT_BY_BINARY.test(String(value))) return undefined;
  return { amount: String(value).slice(0, CHARACTERS_SHOWN), pointer: `/${name}` };
}

function fractionOf({ key, index, requestId, fields }: SeenRecord): Finding[] {
  const found = binaryFraction(fields, String(index));
  const reason = `${key} has ${found?.amount} at ${found?.pointer}: an amount that was converted to binary floating point. Send decimals as exact strings.`;
  return found === undefined ? [] : [wrong(reason, requestId)];
}

function refusalsOf({ events }: Evidence): Finding[] {
  return eventsOf(events, "refused").flatMap(({ at, resource, violations }) => {
    const form = violations.find(({ code }) => FORM_CODES.has(code));
    const reason = `At ${at} a batch of ${resource} was refused: ${form?.message} (${form?.code} at ${form?.pointer}). null is accepted only where the specification shows it; omit other fields. A number is a JSON number or a string of digits.`;
    return form === undefined ? [] : wrong(reason);
  });
}

/** Specification section 2: null where the contract shows it; decimals as strings; quantities as numbers or numeric strings. */
export const nullAndNumbers: Step = {
  name: "null-and-numbers",
  title: "null and numbers",
  docs: "records#types",
  instruction: () =>
    `Send a reservation with null in a field that may be null and is empty (such as cancellationDateTime or cancellationReason), amounts as decimal strings ("129.90") and quantities as numbers or strings of digits. No batch may be refused for a null or a number.`,
  notYet:
    "No reservation with null in a field that may be null, such as cancellationDateTime, and amounts as decimal strings has been received.",
  find(evidence) {
    const reservations = latestOf(evidence, "reservations");
    const shown = historiesOf(evidence, "reservations")
      .flatMap(({ versions }) => versions)
      .filter(({ fields }) => hasNull(fields) && hasMoneyAsText(fields));
    return [
      ...refusalsOf(evidence),
      ...[...reservations, ...latestOf(evidence, "groups")].flatMap(fractionOf),
      ...shown.map(({ key, requestId }) =>
        right(`${key} has null in empty fields and amounts as strings.`, requestId),
      ),
    ];
  },
};

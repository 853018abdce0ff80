import type { Evidence, SeenRecord } from "../evidence.ts";
import { historiesOf } from "../history.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-event.ts";

/** Why a batch is refused that has a null or a number in a form that is not taken. */
const FORM_CODES: ReadonlySet<string> = new Set([
  "null",
  "type",
  "number.integer",
  "number.range",
  "number.decimal",
  "number.unsafe",
]);
const NULLABLE = ["multiReservationId", "cancellationDateTime", "cancellationReason"] as const;
/** `129.90000000000001`: nobody's price, but what a sum of binary fractions leaves. */
const LEFT_BY_BINARY = /^-?\d+\.\d{9,}$/;
const MONEY = /(?:Value|Rate|Revenue|Price|rate|ticketPrice)$/;

/** A money value that went through binary floating point, and where it stands. */
function binaryFraction(value: unknown, pointer: string): string | undefined {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const found = binaryFraction(item, `${pointer}/${at}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      const found = binaryFraction(item, `${pointer}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const isMoney = MONEY.test(pointer) && (typeof value === "string" || typeof value === "number");
  return isMoney && LEFT_BY_BINARY.test(String(value)) ? `${value} at ${pointer}` : undefined;
}

function fractionsOf(evidence: Evidence): Finding[] {
  const latest = (["reservations", "groups"] as const).flatMap((resource) => historiesOf(evidence, resource));
  return latest.flatMap(({ latest: { key, index, requestId, fields } }) => {
    const found = binaryFraction(fields, `/${index}`);
    if (found === undefined) return [];
    return wrong(
      `${key} has ${found}: an amount that went through binary floating point. Send decimals as text, as they are.`,
      requestId,
    );
  });
}

function refusalsOf({ events }: Evidence): Finding[] {
  return eventsOf(events, "refused").flatMap(({ at, resource, violations }) => {
    const form = violations.find(({ code }) => FORM_CODES.has(code));
    if (form === undefined) return [];
    return wrong(
      `At ${at} a batch of ${resource} was refused: ${form.message} (${form.code} at ${form.pointer}). null stands only where the specification shows it; leave other fields out. A number is a JSON number or a text of digits.`,
    );
  });
}

function hasMoneyAsText({ fields }: SeenRecord): boolean {
  return /"(?:rateValue|grossRateValue|net\w+|\w*[tT]icketPrice|grossTotalRevenue)":"-?\d/.test(
    JSON.stringify(fields),
  );
}

function findingsOf(evidence: Evidence): Finding[] {
  const shown = historiesOf(evidence, "reservations").filter(
    ({ latest }) => NULLABLE.some((name) => latest.fields[name] === null) && hasMoneyAsText(latest),
  );
  return [
    ...refusalsOf(evidence),
    ...fractionsOf(evidence),
    ...shown.map(({ latest: { key, requestId } }) =>
      right(`${key} has null for what it has not, and its amounts as text.`, requestId),
    ),
  ];
}

/** Specification section 2: null where the contract shows it; decimals as text; quantities as numbers or numeric texts. */
export const nullAndNumbers: Step = {
  name: "null-and-numbers",
  title: "null and numbers in the forms that are taken",
  instruction: () =>
    `Send a reservation with null in a field that may be null and is empty (${NULLABLE.join(", ")}), amounts as decimal text ("129.90") and quantities as numbers or texts of digits. No batch may be refused for a null or a number.`,
  judge: (evidence) =>
    judgementOf(
      findingsOf(evidence),
      "No reservation with a null where it may stand and amounts as decimal text has been seen.",
    ),
};

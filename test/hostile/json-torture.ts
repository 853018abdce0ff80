import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ACCEPTED_JSON, OPEN_JSON, REFUSED_JSON } from "../contract/json-cases.ts";
import { reservationRecord } from "../support/records.ts";
import type { Answer, TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";

/** A text and what a JSON parser must make of it; `open` is what RFC 8259 leaves to the parser. */
export interface JsonCase {
  readonly name: string;
  readonly bytes: Buffer;
  readonly expected: "accepted" | "refused" | "open";
}

/** What came of the cases; no `problems` is success. */
export interface TortureReport {
  readonly requests: number;
  /** Answers by "expectation place status code". */
  readonly answers: ReadonlyMap<string, number>;
  /** Cases that were stored and came back byte for byte. */
  readonly keptExactly: number;
  /** Cases that are JSON and were refused with a pointer (repeated names, numbers a double changes, NUL). */
  readonly refusedWithPointer: readonly string[];
  readonly problems: readonly string[];
}

/** This project's own cases. */
export function ownCases(): JsonCase[] {
  const cases: JsonCase[] = [];
  for (const [expected, sections] of [
    ["accepted", ACCEPTED_JSON],
    ["refused", REFUSED_JSON],
    ["open", { open: OPEN_JSON }],
  ] as const) {
    for (const texts of Object.values(sections as Readonly<Record<string, readonly string[]>>)) {
      for (const text of texts)
        cases.push({ name: JSON.stringify(text), bytes: Buffer.from(text), expected });
    }
  }
  return cases;
}

const PREFIXES = { y_: "accepted", n_: "refused", i_: "open" } as const;

/** The cases of a directory whose files say by their prefix what is expected: `y_`, `n_` or `i_`, and end in `.json`. */
export async function readSuite(directory: string): Promise<JsonCase[]> {
  const cases: JsonCase[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const expected = PREFIXES[name.slice(0, 2) as keyof typeof PREFIXES];
    if (expected === undefined || !name.endsWith(".json")) continue;
    cases.push({ name, bytes: await readFile(join(directory, name)), expected });
  }
  return cases;
}

const IN_FLIGHT = 8;

/**
 * Sends every case over HTTP twice, as the whole body and as the value of a field that the contract does not know, and
 * reads back what was taken. Never is anything stored that is no JSON, changed on the way, or answered 5xx.
 */
export async function tortureJson(service: TestService, cases: readonly JsonCase[]): Promise<TortureReport> {
  const run = new TortureRun(service);
  const queue = cases.entries();
  const workers = Array.from({ length: IN_FLIGHT }, async () => {
    for (const [number, each] of queue) {
      await run.asWholeBody(each);
      await run.asField(each, number);
    }
  });
  await Promise.all(workers);
  return run;
}

class TortureRun implements TortureReport {
  requests = 0;
  keptExactly = 0;
  readonly answers = new Map<string, number>();
  readonly refusedWithPointer: string[] = [];
  readonly problems: string[] = [];
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** None of them is a batch of records: 400, distinguished by whether it is JSON. Of objects one after the other it is said that no array is. */
  async asWholeBody(each: JsonCase): Promise<void> {
    const { status, exception } = await this.#post(each, each.bytes, "body");
    const malformed = exception === "bellhop.contract.MalformedJson";
    const isRefused = malformed || (exception === "bellhop.contract.NotAnArray" && !isJson(each.bytes));
    const right = status === 400 && (each.expected === "open" || isRefused === (each.expected === "refused"));
    if (!right) this.problems.push(`${each.name} as the body: ${status} ${exception}`);
  }

  async asField(each: JsonCase, number: number): Promise<void> {
    const reservationId = `J-${number}`;
    const head = JSON.stringify(reservationRecord({ reservationId })).slice(0, -1);
    const record = Buffer.concat([Buffer.from(`${head},"note":`), each.bytes, Buffer.from("}")]);
    const body = Buffer.concat([Buffer.from("["), record, Buffer.from("]")]);
    const { status, exception, pointers } = await this.#post(each, body, "field");
    const problem = `${each.name} in a field: ${status} ${exception ?? ""} ${pointers}`;
    // Some fragments complete their surroundings ("1,"b":2" and such): they are JSON there.
    const json = isJson(body);
    if (status === 202 && json) return this.#checkKept(each, reservationId, record);
    if (status !== 400) return void this.problems.push(problem);
    if (exception === "bellhop.contract.MalformedJson") {
      if (each.expected === "accepted") this.problems.push(problem);
    } else if (!json || pointers.length === 0) {
      this.problems.push(problem);
    } else if (each.expected === "accepted") {
      this.refusedWithPointer.push(each.name);
    }
  }

  async #post(each: JsonCase, body: Buffer, place: string) {
    this.requests += 1;
    const answer = await this.#service.post("reservations", body);
    const error = answer.status === 202 ? undefined : readError(answer);
    const key = `${each.expected} ${place} ${answer.status} ${error?.exception ?? ""}`.trimEnd();
    this.answers.set(key, (this.answers.get(key) ?? 0) + 1);
    return {
      status: answer.status,
      exception: error?.exception,
      pointers: (error?.violations ?? []).map(({ pointer }) => pointer),
    };
  }

  async #checkKept(each: JsonCase, reservationId: string, record: Buffer): Promise<void> {
    const query = `clientCode=ACME&propertyCode=LON01&reservationId=${reservationId}`;
    const page = await untilFound(async () => {
      const answer = await this.#service.get(`/api/public/v1/reservations?${query}`);
      return answer.text.startsWith('{"items":[]') ? undefined : answer;
    });
    const expected = Buffer.concat([Buffer.from('{"items":['), record, Buffer.from('],"nextCursor":null}')]);
    if (page.bytes.equals(expected)) this.keptExactly += 1;
    else this.problems.push(`${each.name} came back as ${page.text}`);
  }
}

function readError(answer: Answer): {
  exception?: string;
  violations?: readonly { readonly pointer: string }[];
} {
  try {
    return JSON.parse(answer.text);
  } catch {
    return {};
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** One thing that a check found. */
export interface Finding {
  readonly check: string;
  readonly operation: string;
  readonly phase: string;
  readonly message: string;
  readonly request: string;
  readonly response: string;
}

export interface Report {
  readonly cases: number;
  /** How often each check passed and failed. */
  readonly checks: ReadonlyMap<string, { readonly passed: number; readonly failed: number }>;
  readonly statuses: ReadonlyMap<number, number>;
  /** Operations that never answered 2xx: what they do with a valid request was not tested. */
  readonly neverAccepted: readonly string[];
  /** One of each check, operation and message. */
  readonly findings: readonly Finding[];
  /** Faults of the tool itself: what it could not test. */
  readonly errors: readonly string[];
}

interface Check {
  readonly name: string;
  readonly status: "success" | "failure";
  readonly failure_info?: { readonly failure: { readonly title?: string; readonly message?: string } };
}

interface Interaction {
  readonly request: { readonly method: string; readonly uri: string; readonly body?: Encoded | null };
  readonly response?: {
    readonly status_code: number;
    readonly content?: Encoded | null;
  } | null;
}

interface Encoded {
  readonly $base64: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
}

interface Scenario {
  readonly phase: string;
  readonly recorder: {
    readonly label: string;
    // A scenario that was skipped has none of them.
    readonly cases?: Readonly<Record<string, { readonly value: Request }>>;
    readonly checks?: Readonly<Record<string, readonly Check[]>>;
    readonly interactions?: Readonly<Record<string, Interaction>>;
  };
}

interface Event {
  readonly ScenarioFinished?: Scenario;
  readonly NonFatalError?: {
    readonly label: string;
    readonly value: { readonly type: string; readonly message: string };
  };
  readonly FatalError?: unknown;
}

const TEXT_MAX = 1_000;

/** Reads the events that Schemathesis wrote, one a line. */
export async function readReport(path: string): Promise<Report> {
  const tally = new Tally();
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const event = JSON.parse(line) as Event;
    if (event.ScenarioFinished !== undefined) tally.add(event.ScenarioFinished);
    if (event.NonFatalError !== undefined) {
      const { label, value } = event.NonFatalError;
      tally.errors.push(`${label}: ${value.type} ${value.message.slice(0, TEXT_MAX)}`);
    }
    if (event.FatalError !== undefined)
      tally.errors.push(JSON.stringify(event.FatalError).slice(0, TEXT_MAX));
  }
  return tally.report();
}

class Tally {
  readonly errors: string[] = [];
  #cases = 0;
  readonly #checks = new Map<string, { passed: number; failed: number }>();
  readonly #statuses = new Map<number, number>();
  readonly #accepted = new Map<string, boolean>();
  readonly #findings = new Map<string, Finding>();

  add({ phase, recorder }: Scenario): void {
    const { label, cases = {}, checks: checksOfCases = {}, interactions = {} } = recorder;
    for (const { response } of Object.values(interactions)) {
      this.#cases += 1;
      const status = response?.status_code ?? 0;
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    }
    for (const [id, checks] of Object.entries(checksOfCases)) {
      const { method, path } = cases[id]?.value ?? { method: "", path: label };
      const operation = `${method} ${path}`;
      const isAccepted = isSuccess(interactions[id]);
      if (label === operation || isAccepted)
        this.#accepted.set(operation, isAccepted || this.#accepted.get(operation) === true);
      for (const check of checks) this.#count(check, operation, phase, interactions[id]);
    }
  }

  #count(check: Check, operation: string, phase: string, interaction: Interaction | undefined): void {
    const { name, status } = check;
    const count = this.#checks.get(name) ?? { passed: 0, failed: 0 };
    this.#checks.set(name, count);
    if (status === "success") {
      count.passed += 1;
      return;
    }
    count.failed += 1;
    const { title = "", message = "" } = check.failure_info?.failure ?? {};
    const finding: Finding = {
      check: name,
      operation,
      phase,
      message: `${title}: ${message}`.slice(0, TEXT_MAX),
      request: `${interaction?.request.method} ${interaction?.request.uri} ${textOf(interaction?.request.body)}`,
      response: `${interaction?.response?.status_code} ${textOf(interaction?.response?.content)}`,
    };
    const key = `${name} ${operation} ${finding.message}`;
    if (!this.#findings.has(key)) this.#findings.set(key, finding);
  }

  report(): Report {
    return {
      cases: this.#cases,
      checks: this.#checks,
      statuses: this.#statuses,
      neverAccepted: [...this.#accepted].filter(([, isAccepted]) => !isAccepted).map(([label]) => label),
      findings: [...this.#findings.values()],
      errors: this.errors,
    };
  }
}

function isSuccess(interaction: Interaction | undefined): boolean {
  const status = interaction?.response?.status_code ?? 0;
  return status >= 200 && status < 300;
}

function textOf(content: Encoded | null | undefined): string {
  return content == null ? "" : Buffer.from(content.$base64, "base64").toString().slice(0, TEXT_MAX);
}

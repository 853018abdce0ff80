import assert from "node:assert/strict";
import { ERRORS, type ErrorCode } from "../../src/platform/errors/registry.ts";

/** A body of an error as contract.md's "error object" has it; `violations` only where there are any. */
export interface ErrorObject {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  readonly exception: string;
  readonly message: string;
  readonly violations?: readonly {
    readonly pointer: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly violationTotal?: number;
}

const FIELDS = ["timestamp", "status", "error", "exception", "message"];
/** What must never reach a partner: stack frames, SQL, paths of the server, the database's own words. */
const PRIVATE =
  /\bat .*\(.*:\d+:\d+\)|\b(?:select|insert|update) .*\b(?:from|into|set)\b|node_modules|\.ts\b|\/(?:work|home|root|tmp|usr)\/|ECONN|FST_ERR|postgres/i;

/** Checks that an answer is an error object of a status, and of a code where one is given; gives it back. */
export function errorObject(
  answer: { readonly status: number; readonly text: string },
  status: number,
  code?: ErrorCode,
): ErrorObject {
  assert.equal(answer.status, status, answer.text);
  const body = JSON.parse(answer.text) as ErrorObject;
  const extra = Object.keys(body).filter((name) => !FIELDS.includes(name));
  for (const name of FIELDS) assert.ok(Object.hasOwn(body, name), `${name} is missing: ${answer.text}`);
  assert.ok(
    extra.every((name) => name === "violations" || name === "violationTotal"),
    `fields beyond the contract's: ${extra}`,
  );
  assert.equal(body.status, status);
  assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(body.timestamp) - Date.now()) < 60_000);
  assert.ok(Object.hasOwn(ERRORS, body.exception), `${body.exception} is not in the registry`);
  assert.equal(ERRORS[body.exception as ErrorCode].status, status);
  assert.ok(body.message.length > 0 && body.error.length > 0);
  assert.doesNotMatch(answer.text, PRIVATE);
  assert.ok((body.violations?.length ?? 0) <= 100);
  if (code !== undefined) assert.equal(body.exception, code);
  return body;
}

import assert from "node:assert/strict";
import type { RequestOptions, TestService } from "./service.ts";

/** A line about a change, as a consumer reads it. */
export interface ChangeLine {
  readonly type: "change";
  readonly resource: string;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly requestId: string;
  readonly index: number;
  readonly change: "created" | "updated";
  readonly cursor: string;
  readonly record: Readonly<Record<string, unknown>>;
}

/** One answer of the change feed. */
export interface ChangesAnswer {
  readonly changes: readonly ChangeLine[];
  readonly cursor: string;
  readonly caughtUp: boolean;
}

export const CHANGES = "/api/public/v1/changes";

/** Reads an answer: lines of changes and a last one with a cursor. Throws for one that was cut off. */
export function answerOf(text: string): ChangesAnswer {
  assert.ok(text.endsWith("\n"), `cut off: ${text.slice(-200)}`);
  const lines = text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type: string });
  const { type, cursor, caughtUp } = lines.at(-1) as unknown as Omit<ChangesAnswer, "changes"> & {
    readonly type: string;
  };
  assert.equal(type, "cursor");
  const changes = lines.slice(0, -1) as unknown as ChangeLine[];
  for (const line of changes) assert.equal(line.type, "change");
  return { changes, cursor, caughtUp };
}

/** Asks the feed once; `query` as it stands in the address. */
export async function readFeed(
  service: TestService,
  query = "",
  options: RequestOptions = {},
): Promise<ChangesAnswer> {
  const answer = await service.get(`${CHANGES}?${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
  return answerOf(answer.text);
}

/** Asks again and again from a cursor (or the beginning) until the feed is caught up. */
export async function readToEnd(
  service: TestService,
  query = "",
  cursor?: string,
  options: RequestOptions = {},
): Promise<{ changes: ChangeLine[]; cursor: string; answers: number }> {
  const changes: ChangeLine[] = [];
  let from = cursor;
  for (let answers = 1; ; answers += 1) {
    const page = await readFeed(
      service,
      from === undefined ? query : `${query}&cursor=${from}`.replace(/^&/, ""),
      options,
    );
    changes.push(...page.changes);
    from = page.cursor;
    if (page.caughtUp) return { changes, cursor: from, answers };
  }
}

/** What a change is about, and which content: for lists of many. */
export function compact({ resource, propertyCode, key, sourceTime }: ChangeLine): string {
  return `${resource} ${propertyCode} ${key} ${sourceTime.slice(0, 19)}`;
}

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** What `GET /api/public/v1/requests/<uuid>` answers, as far as these pages look at it. */
export interface RequestStatus {
  readonly status: "accepted" | "applied";
  readonly counts: Readonly<Record<string, number>>;
  readonly records: readonly {
    readonly index: number;
    readonly key: string;
    readonly outcome: string;
    readonly code: string | null;
    readonly pointer: string;
    readonly message: string | null;
    readonly warnings: readonly { readonly pointer: string; readonly code: string }[];
  }[];
}

/** The UUID of a 202. */
export function requestIdOf(answer: Answer): string {
  if (answer.status !== 202) throw new Error(`Not accepted: ${answer.status} ${answer.text}`);
  return answer.json()["requestId"] as string;
}

/** Asks for the status of a request until it is applied, as a partner would. */
export function untilApplied(service: TestService, accepted: Answer | string): Promise<RequestStatus> {
  const requestId = typeof accepted === "string" ? accepted : requestIdOf(accepted);
  return untilFound(async () => {
    const answer = await service.get(`/api/public/v1/requests/${requestId}`);
    const status = answer.json() as unknown as RequestStatus;
    return status.status === "applied" ? status : undefined;
  });
}

/** The records that a `GET` lists. */
export async function itemsOf<Item>(service: TestService, path: string): Promise<readonly Item[]> {
  const answer = await service.get(path);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.json()["items"] as Item[];
}

/** Runs `bellhop …` beside the service, as an operator does. */
export function bellhop(service: TestService, ...args: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      { env: { DATABASE_URL: service.database.url } },
      (error, stdout, stderr) => {
        // A slow machine's wait is reported on stderr, beside the JSON.
        const out = error === null && args.includes("--json") ? stdout : stdout + stderr;
        resolve({ code: typeof error?.code === "number" ? error.code : 0, out });
      },
    );
  });
}

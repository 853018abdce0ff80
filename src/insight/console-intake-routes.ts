import type { FastifyInstance } from "fastify";
import type { IntakeAnswer } from "../console/answers.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addQuestion } from "../console/console-routes.ts";
import { apartFromReader } from "../platform/db/readers.ts";
import { listRequestsOfAll, type RequestItem } from "../query/console/requests.ts";
import { IntakeMeter } from "./console/intake.ts";

const LAST_BATCHES = 20;

const ANY_REQUEST = {
  resource: undefined,
  outcome: undefined,
  from: undefined,
  to: undefined,
  property: undefined,
} as const;

/** What comes in now. Asked every few seconds by every open page: all that ask at once get one answer. */
export function addIntakeRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const meter = new IntakeMeter(pool);
  let looking: Promise<readonly RequestItem[]> | undefined;
  const lastBatches = () => {
    looking ??= apartFromReader(() => listRequestsOfAll(pool, null, ANY_REQUEST, null, LAST_BATCHES))
      .then(({ items }) => items)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  addQuestion(scope, parts, "intake", [], async (): Promise<IntakeAnswer> => {
    const batches = await lastBatches();
    return { ...(await apartFromReader(() => meter.look())), lastBatches: batches };
  });
}

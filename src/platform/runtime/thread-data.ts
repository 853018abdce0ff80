import type { Logger } from "../telemetry/log.ts";
import type { Channel } from "./channel.ts";
import type { ThreadLog } from "./thread-log.ts";

/** The threads a service has beside its main one. */
export type ThreadKind = "apply" | "http";

/** What a thread is started with; everything else comes with its first call. */
export interface ThreadData {
  readonly kind: ThreadKind;
  readonly name: string;
  readonly log: ThreadLog;
}

/** What the main thread answers to the others, about the whole process. */
export interface MainCalls {
  readonly [name: string]: (argument: never) => unknown;
  blockedReason(_: undefined): Promise<string | undefined>;
  /** In the Prometheus text format. */
  metrics(_: undefined): Promise<string>;
}

/** What a thread's own module begins with. */
export interface ThreadContext {
  readonly name: string;
  readonly log: Logger;
  readonly main: Channel<MainCalls>;
}

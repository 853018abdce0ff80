import { fork } from "node:child_process";
import { once } from "node:events";

/** What a limit's or a peer's server says once it listens. */
export interface Ready {
  readonly port: number;
  /** Lines of every request's head. */
  readonly headers?: readonly string[];
  /** Where and how it takes a batch, where that is not as the specification has it. */
  readonly requests?: Readonly<
    Record<string, { readonly path: string; readonly prefix: string; readonly suffix: string }>
  >;
  readonly status?: number;
  /** Stands in every good answer: some refuse under a good status. */
  readonly answerHolds?: string;
}

export interface ChildServer {
  readonly pid: number;
  readonly ready: Ready;
  stop(): Promise<void>;
}

/** Starts a server as a child that reports where it listens, and ends when its parent is gone. Throws when it ends first. */
export async function startChildServer(
  file: URL,
  environment: Readonly<Record<string, string>>,
): Promise<ChildServer> {
  const child = fork(file, {
    // A peer has Node's own choice of young objects (bin/process-environment.mjs).
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      NODE_ENV: "production",
      GRAPHILE_ENV: "production",
      ...environment,
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [ready] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`${file.pathname} ended with ${code}.`))),
  ])) as [Ready];
  return {
    pid: child.pid ?? 0,
    ready,
    stop: async () => {
      if (child.exitCode !== null || !child.connected) return;
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}

import { fork } from "node:child_process";
import { once } from "node:events";

export interface ChildServer {
  readonly pid: number;
  /** The message once it listens. */
  readonly ready: { readonly port: number };
  stop(): Promise<void>;
}

/** Starts a server as a child that reports its port and ends with its parent. Throws if it ends first. */
export async function startChildServer(
  file: URL,
  environment: Readonly<Record<string, string>>,
): Promise<ChildServer> {
  const child = fork(file, {
    // Peers use Node's default young generation (bin/process-environment.mjs).
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      NODE_ENV: "production",
      ...environment,
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [ready] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`${file.pathname} ended with ${code}.`))),
  ])) as [ChildServer["ready"]];
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

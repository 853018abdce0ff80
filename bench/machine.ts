import { execFileSync } from "node:child_process";
import { cpus, release, totalmem } from "node:os";

/** The machine and revision of a run. */
export interface Machine {
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
}

function commit(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty", "--exclude=*"], {
      encoding: "utf8",
    }).trim();
  } catch {
    return "unknown";
  }
}

export function machineOf(): Machine {
  return {
    commit: commit(),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${process.platform} ${release()}`,
    node: process.version,
  };
}

export function machineLine({ commit, cpu, cores, memoryGb, system, node }: Machine): string {
  return `bench of ${commit}: ${cores} x ${cpu}, ${memoryGb} GB, ${system}, Node ${node}`;
}

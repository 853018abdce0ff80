import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { until } from "../support/until.ts";
import { environmentOf, lastOf } from "./dockerfile.ts";
import type { Image } from "./image.ts";
import { type Constraints, type Ended, runIn, startIn } from "./root.ts";

/** How a container is run: as compose.yaml has it. */
export interface ContainerOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** Puts its first process into the control group that limits its memory. */
  readonly launcher: readonly string[];
}

const wordsOf = (text: string): string[] => JSON.parse(text) as string[];

function constraintsOf({ stages }: Image, { environment, launcher }: ContainerOptions): Constraints {
  return {
    uid: Number(lastOf(stages, "USER").split(":")[0]),
    directory: lastOf(stages, "WORKDIR"),
    environment: { ...environmentOf(stages), ...environment },
    locked: true,
    launcher,
  };
}

/** Runs a command of the service in a container of its own, to its end. */
export function runCommandIn(
  image: Image,
  args: readonly string[],
  options: ContainerOptions,
): Promise<Ended> {
  return runIn(
    image.root,
    [...wordsOf(lastOf(image.stages, "ENTRYPOINT")), ...args],
    constraintsOf(image, options),
  );
}

/** Runs any program in a container of its own, to its end. */
export function runProgramIn(
  image: Image,
  command: readonly string[],
  options: ContainerOptions,
): Promise<Ended> {
  return runIn(image.root, command, constraintsOf(image, options));
}

/** A container that runs. */
export class Container {
  readonly #image: Image;
  readonly #options: ContainerOptions;
  readonly #child: ChildProcess;
  readonly lines: string[] = [];
  readonly ended: Promise<number | null>;

  private constructor(image: Image, options: ContainerOptions, child: ChildProcess) {
    this.#image = image;
    this.#options = options;
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream
        ?.setEncoding("utf8")
        .on("data", (text: string) => this.lines.push(...text.trimEnd().split("\n")));
    this.ended = new Promise((resolve) => child.once("close", (code) => resolve(code)));
  }

  /** Starts the image's entry point with these arguments, by default its CMD. */
  static async start(image: Image, options: ContainerOptions, args?: readonly string[]): Promise<Container> {
    const command = [
      ...wordsOf(lastOf(image.stages, "ENTRYPOINT")),
      ...(args ?? wordsOf(lastOf(image.stages, "CMD"))),
    ];
    return new Container(image, options, await startIn(image.root, command, constraintsOf(image, options)));
  }

  /** Runs the image's health check, or asks it for another path; answers whether it is well. */
  async isHealthy(path?: string): Promise<boolean> {
    const check = /CMD (\[.*\])$/.exec(lastOf(this.#image.stages, "HEALTHCHECK"))?.[1] ?? "[]";
    const command = [...wordsOf(check), ...(path === undefined ? [] : [path])];
    return (await runProgramIn(this.#image, command, this.#options)).code === 0;
  }

  async untilReady(waitMsMax: number): Promise<void> {
    let ended = false;
    void this.ended.then(() => {
      ended = true;
    });
    await until(async () => ended || (await this.isHealthy("/readyz")), waitMsMax);
    if (ended) throw new Error(`The container ended:\n${this.lines.join("\n")}`);
  }

  /** The process that is the container's first one, by its number outside. */
  async #firstProcess(): Promise<number> {
    const children = await readFile(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, "utf8");
    return Number(children.trim().split(" ")[0]);
  }

  /** What the kernel says of the container's first process, such as `CapEff`. */
  async statusOf(name: string): Promise<string> {
    const status = await readFile(`/proc/${await this.#firstProcess()}/status`, "utf8");
    return new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
  }

  /** Signals the first process to stop, as `docker stop` does; answers its exit code and how long it took, in ms. */
  async stop(): Promise<{ code: number | null; ms: number }> {
    const startedAt = performance.now();
    process.kill(await this.#firstProcess(), "SIGTERM");
    const code = await this.ended;
    return { code, ms: performance.now() - startedAt };
  }

  /** Ends it however it is. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

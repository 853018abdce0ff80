import { spawn, spawnSync } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions } from "../../scripts/read-options.ts";
import { NotHere } from "../faults/campaign-command.ts";
import { startTestService } from "../support/service.ts";

const USAGE = `npm run campaign -- collections

Installs newman and @usebruno/cli (340 MB) into a temporary folder, and has them send each request of docs/collections to a service of its
own. Each response must have the status that the request's test expects.`;
const COLLECTIONS = fileURLToPath(new URL("../../docs/collections/", import.meta.url));
const PROGRAMS = ["newman@6.2.2", "@usebruno/cli@4.1.0"];

/** Answers whether every request of both collections got its status. */
export async function collectionsCampaign(args: string[]): Promise<boolean> {
  readOptions(USAGE, {}, args);
  const folder = await mkdtemp(join(tmpdir(), "bellhop-collections-"));
  const npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, ...PROGRAMS];
  try {
    if (spawnSync("npm", npm, { stdio: "inherit" }).status !== 0)
      throw new NotHere("npm could not install newman and @usebruno/cli.");
    await cp(join(COLLECTIONS, "bruno"), join(folder, "bruno"), { recursive: true });
    const service = await startTestService();
    try {
      const { clientId, clientSecret } = await service.newClient({
        grants: [{ clientCode: "DEMO", propertyCode: "*" }],
      });
      const values = Object.entries({ baseUrl: service.address, clientId, clientSecret });
      const variables = values.flatMap(([name, value]) => ["--env-var", `${name}=${value}`]);
      const run = (program: string, cwd: string, rest: readonly string[]) =>
        spawnAsync(join(folder, "node_modules/.bin", program), [...rest, ...variables], cwd);
      const postman = await run("newman", COLLECTIONS, [
        ...[
          "run",
          "bellhop.postman_collection.json",
          "-e",
          "bellhop.postman_environment.json",
          "--color",
          "off",
        ],
      ]);
      const bruno = await run("bru", join(folder, "bruno"), ["run", "--env", "Sandbox"]);
      console.log(`newman ${postman === 0 ? "holds" : "FAILED"}, bru ${bruno === 0 ? "holds" : "FAILED"}`);
      return postman === 0 && bruno === 0;
    } finally {
      await service.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The service runs in this process, so that it must not be blocked. */
function spawnAsync(program: string, args: readonly string[], cwd: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    spawn(program, args, { cwd, stdio: "inherit" }).once("error", reject).once("close", resolve);
  });
}

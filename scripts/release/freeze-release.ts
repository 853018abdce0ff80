import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded-postgres.ts";
import { readMigrations } from "../../src/platform/db/migrate.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { tokenOf } from "../../test/faults/new-token.ts";
import { ServiceProcess } from "../../test/faults/service-process.ts";
import { writeDatabase } from "../../test/support/released-database.ts";
import { FILLED_ENVIRONMENT, type Filled, fillService } from "./fill-service.ts";
import { RELEASED, type Release } from "./releases.ts";

const READY_MS_MAX = 60_000;

/** The responses of a released version, with which later ones are compared. */
export interface ReleasedAnswers extends Filled {
  readonly answers: readonly { readonly path: string; readonly body: unknown }[];
  /** The output of `bellhop replay --json`: the digests of the state. */
  readonly replay: { readonly equal: boolean; readonly live: Readonly<Record<string, unknown>> };
}

/** A version to freeze, and the directory of its sources. */
export interface FrozenVersion extends Pick<Release, "version" | "commit" | "date"> {
  readonly directory: string;
}

/**
 * Stores a version in test/released for comparison with later ones: the checksums of its migrations, its OpenAPI
 * document, and a database filled by its service, with its responses.
 */
export async function freezeRelease({ directory, ...release }: FrozenVersion): Promise<void> {
  const into = new URL(`${release.version}/`, RELEASED);
  await mkdir(into, { recursive: true });
  const sources = await readMigrations(pathToFileURL(join(directory, "sql/migrations/")));
  const migrations = Object.fromEntries(sources.map(({ name, checksum }) => [name, checksum]));
  const { database, answers } = await liveOnce(directory);
  const openApi = gzipSync(await readFile(join(directory, "docs/openapi.json")), { level: 9 });
  const files = {
    "release.json": `${JSON.stringify({ ...release, migrations }, null, 2)}\n`,
    "openapi.json.gz": openApi,
    "database.gz": database,
    "answers.json.gz": gzipSync(JSON.stringify(answers), { level: 9 }),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(new URL(name, into), content);
}

/** Runs the version's service on its own embedded database, fills it, queries it, and returns the database. */
async function liveOnce(directory: string): Promise<{ database: Buffer; answers: ReleasedAnswers }> {
  const service = await ServiceProcess.prepare({ checkout: directory, environment: FILLED_ENVIRONMENT });
  try {
    service.start();
    await service.untilReady(READY_MS_MAX);
    const filled = await fillService(service);
    const token = await tokenOf(service.address, filled);
    const answers: { path: string; body: unknown }[] = [];
    for (const path of filled.paths) {
      const answer = await fetch(`${service.address}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      answers.push({ path, body: await answer.json() });
    }
    const replay = JSON.parse(await service.command("replay", "--json")) as ReleasedAnswers["replay"];
    if ((await service.end("SIGTERM")) !== 0) throw new Error("The service did not stop in order.");
    return { database: await takeOut(service.dataDir), answers: { ...filled, answers, replay } };
  } finally {
    await service.remove();
  }
}

async function takeOut(dataDir: string): Promise<Buffer> {
  const server = await startEmbeddedPostgres(
    dataDir,
    "command",
    createLogger({ level: "silent", pretty: false }),
  );
  const client = new pg.Client(clientConfig(server.address, "on"));
  try {
    await client.connect();
    return await writeDatabase(client);
  } finally {
    await client.end();
    await server.close();
  }
}

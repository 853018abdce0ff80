import { readdir, readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";

/** A version that is out, as test/released/<version>/release.json has it. */
export interface Release {
  readonly version: string;
  /** The commit that it is. */
  readonly commit: string;
  /** YYYY-MM-DD. */
  readonly date: string;
  /** The checksum of each migration that it brought, by name. */
  readonly migrations: Readonly<Record<string, string>>;
}

/** Where what was released is kept: for each version its release.json, openapi.json and a database with data in it. */
export const RELEASED = new URL("../../test/released/", import.meta.url);

/** Every version that is out, oldest first. */
export async function readReleases(): Promise<readonly Release[]> {
  const versions = (await readdir(RELEASED)).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  const releases = await Promise.all(
    versions.map(
      async (version) =>
        JSON.parse(await readFile(new URL(`${version}/release.json`, RELEASED), "utf8")) as Release,
    ),
  );
  return releases.sort((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }));
}

/** The OpenAPI document of a version that is out. */
export async function readReleasedOpenApi(version: string): Promise<OpenApiDocument> {
  const packed = await readFile(new URL(`${version}/openapi.json.gz`, RELEASED));
  return JSON.parse(gunzipSync(packed).toString()) as OpenApiDocument;
}

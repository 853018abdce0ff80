import { readdir, readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";

/** A released version, as in test/released/<version>/release.json. */
export interface Release {
  readonly version: string;
  readonly commit: string;
  /** YYYY-MM-DD. */
  readonly date: string;
  /** The checksum of each migration that it introduced, by name. */
  readonly migrations: Readonly<Record<string, string>>;
}

/** The directory of frozen releases: each has release.json, openapi.json and a filled database. */
export const RELEASED = new URL("../../test/released/", import.meta.url);

/** All released versions, oldest first. */
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

/** The OpenAPI document of a released version. */
export async function readReleasedOpenApi(version: string): Promise<OpenApiDocument> {
  const packed = await readFile(new URL(`${version}/openapi.json.gz`, RELEASED));
  return JSON.parse(gunzipSync(packed).toString()) as OpenApiDocument;
}

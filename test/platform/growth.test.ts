/** Functions that outside text reaches take time in proportion to it: ten times the text, about ten times the time. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, test } from "node:test";
import type { FastifyRequest } from "fastify";
import { bearerError, lacksScope, retryAfterMs } from "#client/http.ts";
import { readOptions } from "#client/options.ts";
import { plainDecimal } from "#contract/decimal.ts";
import { didYouMean } from "#contract/nearest.ts";
import { readBatch } from "#contract/read-batch.ts";
import { knownStatus } from "#contract/statuses.ts";
import { quoted } from "#contract/violation.ts";
import { withoutFormula } from "#contract/without-formula.ts";
import { printable } from "../../src/cli/output.ts";
import { unknownCommand } from "../../src/cli/parse-line.ts";
import { readConfig } from "../../src/config.ts";
import { readCookie } from "../../src/console/cookie.ts";
import { parseForm } from "../../src/identity/form.ts";
import { parseGrant } from "../../src/identity/grants.ts";
import { chooseScopes } from "../../src/identity/scopes.ts";
import { readManifest } from "../../src/operations/backup/manifest.ts";
import { accepts } from "../../src/platform/http/built-files.ts";
import { clientAddressReader } from "../../src/platform/http/client-address.ts";
import { readInstant } from "../../src/platform/http/instant.ts";
import { isLoopback, originOf, plainAddress, readNetworks } from "../../src/platform/http/networks.ts";
import { preferenceOf, prefersText } from "../../src/platform/http/preferences.ts";
import { decodeFormText } from "../../src/platform/http/read-parameters.ts";
import { pathOf, RouteIndex } from "../../src/platform/http/route-index.ts";
import { folded } from "../../src/platform/runtime/fold-text.ts";
import { searchableWords } from "../../src/privacy/erasure/redact-bucket.ts";
import { WordFinder } from "../../src/privacy/erasure/word-finder.ts";
import { readSettingValue, SETTINGS } from "../../src/settings/setting-values.ts";
import { AddressRules } from "../../src/webhooks/address-rules.ts";
import { readEndpointUrl } from "../../src/webhooks/endpoint-address.ts";
import { messageIdOf } from "../../src/webhooks/message.ts";

const SMALL = 10_000;
const LARGE = 100_000;
const RATIO_MAX = 40;
const RUNS = 5;
/** Five billion steps, the least that quadratic work on LARGE characters is, take more than this, so less needs no comparison. */
const CERTAIN_MS = 200;

const request = (headers: Record<string, string>) => ({ headers, socket: {} });
const routes = new RouteIndex();
routes.add("GET", "/docs/*");
const addressOf = clientAddressReader(["127.0.0.0/8"]);
const rules = new AddressRules([]);
const response = (name: string, text: string) =>
  ({ headers: new Map([[name, text]]) }) as unknown as Response;
const limits = { recordsMax: 10_000, depthMax: 32 };

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "Accept-Encoding": (text) => accepts(request({ "accept-encoding": text }) as FastifyRequest, "br"),
  Accept: (text) => prefersText(text, "text/csv"),
  Prefer: (text) => preferenceOf(text, "wait"),
  Cookie: (text) => readCookie(text, "bellhop"),
  "X-Forwarded-For": (text) =>
    addressOf({
      headers: { "x-forwarded-for": text },
      socket: { remoteAddress: "127.0.0.1" },
    } as unknown as IncomingMessage),
  "an address and its route": (text) => routes.methodsOf(pathOf(text)),
  "a parameter": (text) => decodeFormText(text),
  "a form": (text) => parseForm(Buffer.from(text)),
  "an instant": (text) => readInstant(text),
  "a scope": (text) => chooseScopes(text, ["read", "insight:read"]),
  "a grant": (text) => parseGrant(text),
  "a message id": (text) => messageIdOf(text),
  "an endpoint": (text) => readEndpointUrl(`https://partner.example/${text}`, rules),
  networks: (text) => readNetworks(text),
  "an origin": (text) => originOf(text),
  "a host": (text) => [isLoopback(text), plainAddress(text)],
  "a batch": (text) => readBatch(Buffer.from(text), limits),
  "a text of a record": (text) => readBatch(Buffer.from(JSON.stringify([{ status: text }])), limits),
  "a name of a record": (text) => readBatch(Buffer.from(JSON.stringify([{ [text]: 1 }])), limits),
  "a status": (text) => knownStatus("reservations", text),
  "a number": (text) => plainDecimal(text),
  "a word that is misspelt": (text) => didYouMean(text, ["reservation", "inventory"]),
  "a quoted text": (text) => quoted(text),
  "a cell of a CSV file": (text) => withoutFormula(text),
  "a name to be erased": (text) => searchableWords([text]),
  "a text that may mention a guest": (text) => new WordFinder(["anna", "4711"]).isIn(text),
  "a folded text": (text) => folded(text),
  "a printed text": (text) => printable(text),
  "a command": (text) => unknownCommand("bellhop", text, ["send", "validate"]),
  "a setting": (text) => SETTINGS.map((setting) => attempt(() => readSettingValue(setting, text))),
  "an environment": (text) =>
    ["BASE_URL", "TRUSTED_PROXIES", "OTEL_EXPORTER_OTLP_HEADERS", "WEBHOOK_ALLOWED_NETWORKS"].map((name) =>
      attempt(() => readConfig({ [name]: text, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" })),
    ),
  "BASE_URL with a long path": (text) => readConfig({ BASE_URL: `https://hotels.example/${text}` }),
  "a manifest of a backup": (text) => readManifest(Buffer.from(text)),
  "the client's address of the service": (text) =>
    readOptions({ baseUrl: `https://hotels.example/${text}`, clientId: "a", clientSecret: "b" }),
  "the client's WWW-Authenticate": (text) => {
    const answer = response("www-authenticate", text);
    return [bearerError(answer), lacksScope(answer)];
  },
  "the client's Retry-After": (text) => retryAfterMs(new Map([["retry-after", text]]) as unknown as Headers),
};

/** Repeated, and repeated between two letters. */
const PARTS = [
  ...["\t", " ", ",", ";", "=", '"', "\\", "/", "-", ".", ":", "0", "a", "A", "_", "%", "{", "[", "<", "@"],
  ...["\u00e9", "\n", "q=0;", '"\\', "a,", ",\t", "a.", "--", "%41", "a=b&", '[{"', "\\u0000", "; ", "0.0"],
];

function attempt(read: () => unknown): void {
  try {
    read();
  } catch {
    // Most texts are refused.
  }
}

/** Processor time of this thread, which others on the machine do not lengthen; in milliseconds. */
function timeOf(read: (text: string) => unknown, text: string): number {
  const before = process.threadCpuUsage();
  attempt(() => read(text));
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const least = (read: (text: string) => unknown, text: string) =>
  Math.min(...Array.from({ length: RUNS }, () => timeOf(read, text)));

describe("the time for a text grows in proportion to it", () => {
  for (const [name, read] of Object.entries(READERS)) {
    test(name, () => {
      for (const part of PARTS) {
        for (const [before, after] of [
          ["", ""],
          ["a", "b"],
        ]) {
          const textOf = (characters: number) => `${before}${part.repeat(characters / part.length)}${after}`;
          if (timeOf(read, textOf(LARGE)) < CERTAIN_MS) continue;
          const ratio = least(read, textOf(LARGE)) / least(read, textOf(SMALL));
          assert.ok(
            ratio < RATIO_MAX,
            `${JSON.stringify(part)} repeated: ${ratio.toFixed(0)} times the time`,
          );
        }
      }
    });
  }
});

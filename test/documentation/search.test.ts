import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findSections, readIndex } from "../../packages/docs/search-options.ts";

const dist = fileURLToPath(new URL("../../packages/docs/dist/", import.meta.url));

/** What a partner types, and a page that answers it. */
const ASKED: readonly (readonly [query: string, page: string])[] = [
  ["time zones", "docs/faq#which-time-zone-applies-what-about-local-time-and-daylight-saving"],
  ["daylight saving", "docs/faq#which-time-zone-applies-what-about-local-time-and-daylight-saving"],
  ["delete a reservation", "docs/guides/cancellations"],
  [
    "same record twice",
    "docs/faq#what-happens-when-the-same-record-or-batch-is-sent-twice-duplicate-booking",
  ],
  [
    "duplicate booking",
    "docs/faq#what-happens-when-the-same-record-or-batch-is-sent-twice-duplicate-booking",
  ],
  ["walk-in", "docs/faq#how-do-i-send-a-walk-in"],
  ["walkin", "docs/faq#how-do-i-send-a-walk-in"],
  ["credit card", "docs/faq#may-i-send-card-data-such-as-a-credit-card-number"],
  ["pci", "docs/faq#may-i-send-card-data-such-as-a-credit-card-number"],
  ["powershell", "docs/faq#how-do-i-send-files-on-windows-or-from-excel"],
  ["xlsx", "docs/faq#how-do-i-send-files-on-windows-or-from-excel"],
  ["windows", "docs/faq#how-do-i-send-files-on-windows-or-from-excel"],
  ["excel", "docs/faq#how-do-i-send-files-on-windows-or-from-excel"],
  ["required fields", "docs/faq#which-fields-are-required"],
  ["max batch size", "docs/faq#what-is-the-maximum-batch-size"],
  ["correct a past night", "docs/faq#how-do-i-correct-a-past-night"],
  ["group pickup", "docs/guides/recipes#group-pickup"],
  ["unknown fields", "docs/records#types"],
  ["status vocabulary", "docs/faq#which-status-values-may-i-send"],
  ["test and live", "docs/faq#how-do-i-try-my-integration-sandbox-test-and-live"],
  ["sandbox", "docs/environments"],
  ["currency", "docs/faq#which-currency-and-how-many-decimals"],
  ["null", "docs/records#types"],
  ["503", "docs/faq#what-do-429-and-503-mean"],
  ["complimentary", "docs/guides/recipes#complimentary-and-house-use"],
  ["room move", "docs/guides/recipes#room-move"],
  ["foreign currency", "docs/guides/recipes#foreign-currency"],
  ["mews", "docs/mappings/mews"],
  ["csv file", "docs/sending#csv"],
  ["postman", "docs/faq#is-there-a-java-c-php-or-go-client-or-a-postman-collection"],
  ["idempotncy", "docs/guides/retries#idempotency-key"],
  [
    "what happens if I send the same batch twice",
    "docs/faq#what-happens-when-the-same-record-or-batch-is-sent-twice-duplicate-booking",
  ],
  [
    "send the same record twice",
    "docs/faq#what-happens-when-the-same-record-or-batch-is-sent-twice-duplicate-booking",
  ],
  ["how big may a batch be", "docs/faq#what-is-the-maximum-batch-size"],
  ["how do I delete a reservation", "docs/faq#how-do-i-delete-a-reservation"],
  ["token lifetime", "docs/faq#how-long-is-a-token-valid"],
  ["how long does a token last", "docs/faq#how-long-is-a-token-valid"],
  ["IP allow list", "docs/faq#is-there-an-ip-allow-list"],
  ["reset the sandbox", "docs/faq#how-do-i-empty-or-reset-the-sandbox"],
  ["clear test data", "docs/faq#how-do-i-empty-or-reset-the-sandbox"],
  ["schema changes", "docs/faq#will-the-api-or-its-schema-change"],
  ["will the API change", "docs/faq#will-the-api-or-its-schema-change"],
  ["maven", "docs/clients#by-language"],
];

describe("the search of the documentation", () => {
  let index: ReturnType<typeof readIndex>;
  before(() => {
    const page = readFileSync(`${dist}index.html`, "utf8");
    const file =
      /data-index="assets\/(search-[\w-]+\.json)"/.exec(page)?.[1] ?? /search-[\w-]+\.json/.exec(page)?.[0];
    index = readIndex(readFileSync(`${dist}assets/${file}`, "utf8"));
  });
  for (const [query, page] of ASKED)
    test(`finds the answer to "${query}" among its first three sections`, () => {
      const found = findSections(index, query, "integrate").slice(0, 3);
      assert.ok(
        found.some(({ id }) => id === page),
        found.map(({ id }) => id).join("\n"),
      );
    });

  test("puts the pages of the reader's own menu first", () => {
    const first = (audience: "integrate" | "operate") =>
      findSections(index, "retention", audience)[0]?.["audience"];
    assert.equal(first("operate"), "operate");
    const ofOperators = findSections(index, "token", "operate")[0];
    const ofPartners = findSections(index, "token", "integrate")[0];
    assert.equal(ofPartners?.["audience"], "integrate");
    assert.ok(ofOperators !== undefined);
  });
});

test("every page has its Markdown, whose links lead to files that are served", () => {
  const pages = globSync("**/*.html", { cwd: dist }).filter((name) => name !== "api.html");
  assert.ok(pages.length > 30);
  for (const page of pages) {
    const file = page.replace(/html$/, "md");
    const text = readFileSync(`${dist}${file}`, "utf8");
    assert.match(text, /^# /m, file);
    for (const [, address = ""] of text.matchAll(/\]\(([^()\s#]+\.md)(?:#[^()\s]*)?\)/g)) {
      const target = new URL(address, `https://a.example/docs/${file}`).pathname.replace("/docs/", "");
      if (!address.startsWith("http"))
        assert.ok(readFileSync(`${dist}${target}`).length > 0, `${file}: ${address}`);
    }
  }
  const list = readFileSync(`${dist}llms.txt`, "utf8");
  for (const page of pages) assert.ok(list.includes(`(/docs/${page.replace(/html$/, "md")})`), page);
});

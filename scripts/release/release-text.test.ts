import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { versionAfter, withRelease, withVersion } from "./release-text.ts";

describe("a release", () => {
  test("has the version after the one before", () => {
    assert.equal(versionAfter("0.1.9", "patch"), "0.1.10");
    assert.equal(versionAfter("0.1.9", "minor"), "0.2.0");
    assert.equal(versionAfter("0.1.9", "major"), "1.0.0");
  });

  test("is described by what stood under Unreleased", () => {
    const changelog = "# Changelog\n\n## Unreleased\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\n- The first.\n";
    assert.equal(
      withRelease(changelog, "0.2.0", "2026-02-01"),
      "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-01)\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\n- The first.\n",
    );
  });

  test("is refused where nothing describes it", () => {
    assert.throws(
      () => withRelease("## Unreleased\n\n## 0.1.0\n\n- A thing.\n", "0.2.0", "2026-02-01"),
      /nothing/,
    );
    assert.throws(() => withRelease("# Changelog\n", "0.2.0", "2026-02-01"), /no "## Unreleased"/);
  });

  test("changes only the version of the package itself", () => {
    const lock = `{\n  "name": "a",\n  "version": "0.1.0",\n  "packages": {\n    "": {\n      "name": "a",\n      "version": "0.1.0"\n    },\n    "node_modules/b": {\n      "version": "0.1.0"\n    }\n  }\n}\n`;
    const changed = withVersion(lock, "0.2.0");
    assert.equal(changed.split('"0.2.0"').length, 3);
    assert.equal(changed.split('"0.1.0"').length, 2);
    assert.match(changed, /"node_modules\/b": \{\s+"version": "0.1.0"/);
  });
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

const style = readFileSync(new URL("./page.css", import.meta.url), "utf8");

/** The colours of the two palettes, the first `:root` being the light one. */
const palettes = [...style.matchAll(/:root \{([^}]*)\}/g)].map(
  ([, body = ""]) =>
    new Map([...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex])),
);

/** Relative luminance of an sRGB colour (WCAG 2.2). */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const INKS = [
  "ink",
  "soft",
  "accent",
  "get",
  "post",
  "wrong",
  "code-key",
  "code-text",
  "code-number",
  "code-word",
];

describe("the colours of the page", () => {
  for (const [at, scheme] of ["light", "dark"].entries()) {
    const colour = (name: string): string => {
      const hex = palettes[at]?.get(name);
      assert.ok(hex !== undefined, `the ${scheme} palette has no ${name}`);
      return hex;
    };
    test(`every ink of the ${scheme} palette can be read on both of its papers (WCAG AA, 4.5:1)`, () => {
      for (const ink of INKS) {
        for (const paper of ["paper", "raised"]) {
          const ratio = contrast(colour(ink), colour(paper));
          assert.ok(ratio >= 4.5, `${ink} on ${paper}: ${ratio.toFixed(2)}`);
        }
      }
      assert.ok(contrast(colour("on-accent"), colour("accent")) >= 4.5);
    });
  }
  test("no colour stands outside the palettes", () => {
    const rules = style.replace(/:root \{[^}]*\}/g, "");
    assert.doesNotMatch(rules, /#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(/i);
  });
});

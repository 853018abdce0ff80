import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { headingAnchor, plainText, renderInline } from "./inline-markdown.ts";
import { renderMarkdown } from "./markdown.ts";
import { readBlocks } from "./markdown-blocks.ts";

const rendered = (markdown: string) => renderMarkdown(markdown).markup.replace(/\n/g, "");
const inline = (text: string) => renderInline(text).markup;

describe("blocks", () => {
  test("headings, paragraphs and code are told apart, and a line of a paragraph may be cut anywhere", () => {
    assert.deepEqual(readBlocks("# One\nTwo\nthree\n\n```sh\n# no heading\n\n- no list\n```\nfour"), [
      { kind: "heading", level: 1, text: "One" },
      { kind: "paragraph", text: "Two\nthree" },
      { kind: "code", language: "sh", text: "# no heading\n\n- no list" },
      { kind: "paragraph", text: "four" },
    ]);
  });
  test("a list keeps lines that go on, lists within it, and code of its items", () => {
    assert.equal(
      rendered("- one\n  goes on\n- two\n  - inner\n- three"),
      "<ul><li>onegoes on</li><li>two<ul><li>inner</li></ul></li><li>three</li></ul>",
    );
    assert.equal(rendered("2. two\n3. three"), '<ol start="2"><li>two</li><li>three</li></ol>');
    const [list] = readBlocks("1. one\n\n   ```sh\n   ls\n   ```\n\n2. two");
    assert.ok(list?.kind === "list" && list.items.length === 2);
    assert.deepEqual(list.items[0]?.[1], { kind: "code", language: "sh", text: "ls" });
  });
  test("a year at the beginning of a line begins no list, and what follows a list without a blank line goes on with it", () => {
    assert.equal(readBlocks("It was in\n2026. A year.").length, 1);
    assert.equal(readBlocks("- one\nand on\n\nOut of it.").length, 2);
  });
  test("a table has its cells, bars within them, and as many as its head", () => {
    assert.deepEqual(readBlocks("| a | b |\n|---|:-:|\n| `x\\|y` | z |\n| one |"), [
      {
        kind: "table",
        head: ["a", "b"],
        rows: [
          ["`x|y`", "z"],
          ["one", ""],
        ],
      },
    ]);
    assert.equal(readBlocks("| no table").at(0)?.kind, "paragraph");
  });
  test("comments are left out, over lines, and code that is not closed ends with the text", () => {
    assert.deepEqual(readBlocks("<!-- one\ntwo -->\nthree"), [{ kind: "paragraph", text: "three" }]);
    assert.deepEqual(readBlocks("```\nopen"), [{ kind: "code", language: "", text: "open" }]);
  });
  test("nesting without end becomes text", () => {
    assert.ok(renderMarkdown(`${"> ".repeat(5_000)}deep`).markup.includes("deep"));
    assert.ok(renderMarkdown(`${"- ".repeat(5_000)}deep`).markup.includes("deep"));
  });
});

describe("text", () => {
  test("marks are read, also around each other, and not within code", () => {
    assert.equal(
      inline("**a `b` c** *d* `**e**` ``f ` g``"),
      "<strong>a <code>b</code> c</strong> <em>d</em> <code>**e**</code> <code>f ` g</code>",
    );
    assert.equal(inline("2 * 3 * 4 and a*b"), "2 * 3 * 4 and a*b");
    assert.equal(inline("roomStays[].rates[] and \\*this\\*"), "roomStays[].rates[] and *this*");
  });
  test("whatever it says, no text becomes markup", () => {
    for (const hostile of [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "`<b>`",
      '[<b>](<i>"x)',
      '[a](x"onclick="y)',
      "![<b>](a.png)",
      '**<a href="x">**',
    ]) {
      const markup = renderMarkdown(hostile).markup;
      const tags = [...markup.matchAll(/<(\/?)(\w+)([^>]*)>/g)].filter(
        ([, , name, attributes = ""]) =>
          !/^(p|code|strong|em|a|img|span)$/.test(name ?? "") || /\son/.test(attributes),
      );
      assert.deepEqual(tags, [], markup);
    }
  });
  test("addresses of other schemes are never linked", () => {
    for (const address of ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:x"])
      assert.doesNotMatch(inline(`[a](${address}) ![b](${address})`), /href|src/);
    assert.equal(inline("[a](b.md#c)"), '<a href="b.md#c">a</a>');
    assert.equal(inline("<https://a.example/b>"), '<a href="https://a.example/b">https://a.example/b</a>');
  });
  test("what cannot be followed is text", () => {
    assert.equal(renderInline("[a](b)", () => undefined).markup, '<span class="unlinked">a</span>');
  });
  test("a title without its marks, and its anchor as code hosts make it", () => {
    assert.equal(plainText("The `a` of [b **c**](d)"), "The a of b c");
    assert.equal(headingAnchor("What `a_b` is, and why: 2.1"), "what-a_b-is-and-why-21");
  });
});

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What generators warn of depends on the release. */
export const OPENAPI_GENERATOR = "7.25.0";
export const OPENAPI_PYTHON_CLIENT = "0.29.1";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));
const DOCUMENT = join(root, "docs/openapi.json");
const TYPESCRIPT = join(root, "node_modules/typescript/bin/tsc");

/** A command with its arguments, and where it runs. */
export interface Step {
  readonly command: readonly [string, ...string[]];
  readonly directory: string;
}

/** Where the generators are, and a Python with what both Python clients need. */
export interface Tools {
  readonly jar: string;
  readonly python: string;
}

/** A client made from the document, in a directory of its own. */
export interface GeneratedClient {
  readonly name: string;
  generate(tools: Tools, directory: string): Step["command"];
  /** What must be on this machine to build it, with its version arguments; nothing where it is only generated. */
  readonly toolchain?: readonly [string, ...string[]];
  /** Puts the program beside the client and answers how both are compiled. */
  readonly compile?: (tools: Tools, directory: string) => Promise<readonly Step[]>;
  readonly run?: (tools: Tools, directory: string) => Step;
}

const byGenerator =
  (generator: string): GeneratedClient["generate"] =>
  ({ jar }, directory) => ["java", "-jar", jar, "generate", "-i", DOCUMENT, "-g", generator, "-o", directory];

async function place(program: string, ...path: string[]): Promise<void> {
  const to = join(...path);
  await mkdir(join(to, ".."), { recursive: true });
  await copyFile(join(PROGRAMS, program), to);
}

/** The client is installed among the others of this Python; types and names of the program show when it runs. */
const pythonClient = (program: string): Pick<GeneratedClient, "toolchain" | "compile" | "run"> => ({
  toolchain: ["python3", "--version"],
  compile: async ({ python }, directory) => [
    { command: [python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", "."], directory },
    { command: [python, "-m", "compileall", "-q", "."], directory },
  ],
  run: ({ python }, directory) => ({ command: [python, join(PROGRAMS, program)], directory }),
});

export const CLIENTS: readonly GeneratedClient[] = [
  {
    name: "Java",
    generate: byGenerator("java"),
    toolchain: ["mvn", "--version"],
    compile: async (_tools, directory) => {
      await place("PushAndPage.java", directory, "src/main/java/PushAndPage.java");
      const command = [
        "mvn",
        "-q",
        "compile",
        "dependency:copy-dependencies",
        "-DoutputDirectory=target/lib",
      ] as const;
      return [{ command: [...command], directory }];
    },
    run: (_tools, directory) => ({
      command: ["java", "-cp", "target/classes:target/lib/*", "PushAndPage"],
      directory,
    }),
  },
  {
    name: "Go",
    generate: byGenerator("go"),
    toolchain: ["go", "version"],
    compile: async (_tools, directory) => {
      await place("push-and-page.go", directory, "campaign/main.go");
      return [
        { command: ["go", "mod", "tidy"], directory },
        { command: ["go", "vet", "./..."], directory },
        { command: ["go", "build", "-o", "push-and-page", "./campaign"], directory },
      ];
    },
    run: (_tools, directory) => ({ command: [join(directory, "push-and-page")], directory }),
  },
  { name: "C#", generate: byGenerator("csharp") },
  { name: "PHP", generate: byGenerator("php") },
  { name: "Python", generate: byGenerator("python"), ...pythonClient("push-and-page.py") },
  {
    name: "TypeScript",
    generate: (tools, directory) => byGenerator("typescript-fetch")(tools, join(directory, "client")),
    toolchain: ["node", "--version"],
    compile: async (_tools, directory) => {
      await place("push-and-page.ts", directory, "push-and-page.ts");
      const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
      const options = [
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--lib",
        "es2022,dom",
        ...types,
      ];
      return [
        {
          command: [process.execPath, TYPESCRIPT, ...options, "--outDir", "out", "push-and-page.ts"],
          directory,
        },
      ];
    },
    run: (_tools, directory) => ({ command: ["node", "out/push-and-page.js"], directory }),
  },
  {
    name: "Python (openapi-python-client)",
    generate: ({ python }, directory) => [
      join(python, "../openapi-python-client"),
      "generate",
      "--path",
      DOCUMENT,
      "--output-path",
      directory,
      "--overwrite",
    ],
    ...pythonClient("push-and-page-attrs.py"),
  },
];

/** What generators say of themselves, or of names that are on the wire: not the document's to mend. */
const GENERATORS_OWN: readonly RegExp[] = [
  /OpenAPI 3\.1 support is still in beta/,
  // Of every anyOf of plain types: such a type has no name.
  /Failed to get the schema name: null/,
  // Java takes over no example of a body.
  /Ignoring complex example on request body/,
  // Python has dict[str, Any] for an object of any fields, which it is.
  /Codegen property is null \(e\.g\. map\/dict of undefined type\)/,
  // A member of a key (RFC 7517) and a query parameter.
  /\b(?:use|From) \(reserved word\)/,
  // Lines of JSON are no type that it knows; the answer's content has them.
  /Unsupported content_type application\/x-ndjson/,
];

/** The warnings that a generator printed, those of the document first. */
export function warningsIn(printed: string): { readonly ours: string[]; readonly own: string[] } {
  const found = [
    ...printed.matchAll(/^\[\w+\] WARN +(.*)$/gm),
    ...printed.matchAll(/^WARNING (.*\n\n.*)$/gm),
  ].map(([, text = ""]) => text.replace(/\s+/g, " "));
  const isOwn = (warning: string) => GENERATORS_OWN.some((pattern) => pattern.test(warning));
  return { ours: found.filter((warning) => !isOwn(warning)), own: found.filter(isOwn) };
}

import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What generators warn of depends on the release. */
export const OPENAPI_GENERATOR = "7.25.0";
export const OPENAPI_PYTHON_CLIENT = "0.29.1";
/** Generators for TypeScript, with what their clients import, and the one for C#. */
export const NPM_TOOLS = [
  "nswag@14.7.1",
  "openapi-typescript@7.13.0",
  "openapi-fetch@0.17.0",
  "@hey-api/openapi-ts@0.95.0",
  "orval@7.13.2",
  "@kubb/cli@4.39.3",
  "@kubb/core@4.39.3",
  "@kubb/plugin-oas@4.39.3",
  "@kubb/plugin-ts@4.39.3",
  "@kubb/plugin-zod@4.39.3",
  "@kubb/plugin-client@4.39.3",
  "zod@4.6.7",
] as const;

const root = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));
const DOCUMENT = join(root, "docs/openapi.codegen.json");
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
  /** The node_modules of the generators from npm. */
  readonly modules: string;
}

/** A client made from the document, in a directory of its own. */
export interface GeneratedClient {
  readonly name: string;
  /** What must be on this machine to generate it, with its version arguments, beyond Java, Python and Node. */
  readonly generator?: readonly [string, ...string[]];
  generate(tools: Tools, directory: string): Step["command"] | Promise<Step["command"]>;
  /** What must be on this machine to build it, with its version arguments; nothing where it is only generated. */
  readonly toolchain?: readonly [string, ...string[]];
  /** Puts the program beside the client and answers how both are compiled. */
  readonly compile?: (tools: Tools, directory: string) => Promise<readonly Step[]>;
  readonly run?: (tools: Tools, directory: string) => Step;
}

const byGenerator =
  (generator: string, ...flags: string[]) =>
  ({ jar }: Tools, directory: string): Step["command"] => [
    "java",
    ...["-jar", jar, "generate", "-i", DOCUMENT, "-g", generator, "-o", directory, ...flags],
  ];

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

const javaClient = (library: string, session: string): GeneratedClient => ({
  name: `Java (${library})`,
  generate: byGenerator("java", "--library", library),
  toolchain: ["mvn", "--version"],
  compile: async (_tools, directory) => {
    await place("PushAndPage.java", directory, "src/main/java/PushAndPage.java");
    await place(session, directory, "src/main/java/Session.java");
    const goals = ["compile", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"];
    return [{ command: ["mvn", "-q", ...goals], directory }];
  },
  run: (_tools, directory) => ({
    command: ["java", "-cp", "target/classes:target/lib/*", "PushAndPage"],
    directory,
  }),
});

/** Debian's package mono-devel. NSwag, itself a program of .NET, brings the libraries that its clients use. */
const csharpClient = (
  name: string,
  session: string,
  flags: readonly string[],
  libraries: readonly string[],
): GeneratedClient => {
  const nswag = ({ modules }: Tools, file: string) => join(modules, "nswag/bin/binaries/Win", file);
  return {
    name: `C# (${name})`,
    generator: ["mono", "--version"],
    generate: (tools, directory) => {
      const files = [`input:${DOCUMENT}`, `output:${join(directory, "Client.cs")}`];
      const options = [...files, "classname:BellhopClient", "namespace:Bellhop", ...CSHARP_FLAGS, ...flags];
      return ["mono", nswag(tools, "NSwag.exe"), "openapi2csclient", ...options.map((one) => `/${one}`)];
    },
    toolchain: ["mcs", "--version"],
    compile: async (tools, directory) => {
      for (const file of ["PushAndPage.cs", session]) await place(file, directory, file);
      for (const library of libraries) await copyFile(nswag(tools, library), join(directory, library));
      const references = [...CSHARP_REFERENCES, ...libraries].map((library) => `-r:${library}`);
      const sources = ["Client.cs", "PushAndPage.cs", session];
      return [{ command: ["mcs", "-langversion:latest", "-warn:0", ...references, ...sources], directory }];
    },
    run: (_tools, directory) => ({ command: ["mono", "Client.exe"], directory }),
  };
};
const CSHARP_FLAGS = [
  "dateType:System.DateTime",
  "generateOptionalParameters:true",
  "generateOptionalPropertiesAsNullable:true",
];
const CSHARP_REFERENCES = [
  "System.Net.Http.dll",
  "System.ComponentModel.DataAnnotations.dll",
  "System.Runtime.Serialization.dll",
  "Facades/netstandard.dll",
];
const SYSTEM_TEXT_JSON = [
  "System.Text.Json.dll",
  "System.Text.Encodings.Web.dll",
  "System.Memory.dll",
  "System.Buffers.dll",
  "System.IO.Pipelines.dll",
  "System.Numerics.Vectors.dll",
  "System.Runtime.CompilerServices.Unsafe.dll",
  "System.Threading.Tasks.Extensions.dll",
  "Microsoft.Bcl.AsyncInterfaces.dll",
];

/** Compiles a program, the client beside it and what both import, and runs the result. */
const typescriptProgram = (
  program: string,
  ...beside: string[]
): Pick<GeneratedClient, "toolchain" | "compile" | "run"> => ({
  toolchain: ["node", "--version"],
  compile: async (_tools, directory) => {
    for (const file of [program, ...beside]) await place(file, directory, file);
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
    const language = ["--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"];
    const modules = ["--module", "nodenext", ...types, "--outDir", "out", "--rootDir", "."];
    return [{ command: [process.execPath, TYPESCRIPT, ...language, ...modules, program], directory }];
  },
  run: (_tools, directory) => ({
    command: [process.execPath, join("out", program.replace(/ts$/, "js"))],
    directory,
  }),
});

/** A client of a generator from npm; `settings` is the text of its configuration, if it needs one. */
const typescriptClient = (
  name: string,
  program: string,
  command: readonly [string, ...string[]],
  settings?: readonly [file: string, text: string],
): GeneratedClient => ({
  name: `TypeScript (${name})`,
  generate: async ({ modules }, directory) => {
    await symlink(modules, join(directory, "node_modules"));
    if (settings !== undefined) await writeFile(join(directory, settings[0]), settings[1]);
    const [file, ...args] = command;
    return [join(modules, ".bin", file), ...args];
  },
  ...typescriptProgram(program, "typescript-core.ts"),
});

const INPUT = JSON.stringify(DOCUMENT);
const HEY_API = `export default { input: ${INPUT}, output: "client", plugins: [
  "@hey-api/typescript", "zod", "@hey-api/client-fetch", { name: "@hey-api/sdk", validator: true },
] };`;
const ORVAL = `module.exports = {
  client: { input: ${INPUT}, output: { mode: "split", target: "client/client.ts", client: "fetch" } },
  checks: { input: ${INPUT}, output: { mode: "single", target: "client/zod.ts", client: "zod" } },
};`;
const KUBB = `import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";
import { pluginZod } from "@kubb/plugin-zod";
export default {
  root: ".", input: { path: ${INPUT} },
  output: { path: "client", extension: { ".ts": "" }, format: false, lint: false },
  plugins: [
    pluginOas({ generators: [] }), pluginTs({ unknownType: "unknown" }), pluginZod({}),
    pluginClient({ client: "fetch", parser: "zod", bundle: true }),
  ],
};`;

export const CLIENTS: readonly GeneratedClient[] = [
  javaClient("okhttp-gson", "SessionOkhttp.java"),
  javaClient("native", "SessionNative.java"),
  javaClient("restclient", "SessionRestclient.java"),
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
  csharpClient("Newtonsoft.Json", "SessionNewtonsoft.cs", [], ["Newtonsoft.Json.dll"]),
  csharpClient(
    "System.Text.Json",
    "SessionSystemText.cs",
    ["jsonLibrary:SystemTextJson", "jsonLibraryVersion:9"],
    SYSTEM_TEXT_JSON,
  ),
  { name: "C# (openapi-generator)", generate: byGenerator("csharp") },
  {
    name: "PHP",
    generate: byGenerator("php"),
    // Debian's packages php-cli, php-mbstring and php-guzzlehttp-guzzle.
    toolchain: ["php", "-r", "require 'GuzzleHttp/autoload.php'; mb_strlen('');"],
    compile: async (_tools, directory) => {
      await place("push-and-page.php", directory, "push-and-page.php");
      return [
        { command: ["sh", "-c", "find lib push-and-page.php -name '*.php' | xargs -n 1 php -l"], directory },
      ];
    },
    run: (_tools, directory) => ({ command: ["php", "push-and-page.php"], directory }),
  },
  { name: "Python", generate: byGenerator("python"), ...pythonClient("push-and-page.py") },
  {
    name: "TypeScript (typescript-fetch)",
    generate: (tools, directory) => byGenerator("typescript-fetch")(tools, join(directory, "client")),
    ...typescriptProgram("push-and-page.ts"),
  },
  typescriptClient("openapi-fetch", "openapi-fetch.ts", [
    "openapi-typescript",
    DOCUMENT,
    "-o",
    "client/schema.d.ts",
  ]),
  typescriptClient(
    "hey-api",
    "hey-api.ts",
    ["openapi-ts", "-f", "hey-api.config.mjs"],
    ["hey-api.config.mjs", HEY_API],
  ),
  typescriptClient(
    "orval",
    "orval.ts",
    ["orval", "--config", "orval.config.cjs"],
    ["orval.config.cjs", ORVAL],
  ),
  typescriptClient(
    "kubb",
    "kubb.ts",
    ["kubb", "generate", "--config", "kubb.config.mjs"],
    ["kubb.config.mjs", KUBB],
  ),
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
  // A member of a key (RFC 7517) and query parameters.
  /\b(?:use|From|range) \(reserved word\)/,
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

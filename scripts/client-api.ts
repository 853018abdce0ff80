/** The public API of packages/client, from its declaration files. */
import { join } from "node:path";
import ts from "typescript";
import { CLIENT_DIRECTORY } from "./client-package.ts";

/** The public API as text, by name, without comments, as in `packages/client/api.txt`. */
export function describeApi(): string {
  const entry = join(CLIENT_DIRECTORY, "dist", "index.d.ts");
  const program = ts.createProgram([entry], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts"],
    types: ["node"],
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(entry);
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error("The client was not built, or exports nothing.");
  const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed });
  const texts = checker
    .getExportsOfModule(module)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((symbol) => {
      const meant = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
      const declarations = (meant.declarations ?? []).map((declaration) =>
        ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration,
      );
      const [first] = declarations;
      if (first === undefined) throw new Error(`${symbol.name} is exported and declared nowhere.`);
      // Types generated from the OpenAPI document are checked against it and the frozen contract of version 1.
      if (first.getSourceFile().fileName.endsWith("/api-types.d.ts"))
        return [`// ${symbol.name}: of the OpenAPI document`];
      return declarations.map((declaration) =>
        printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile()),
      );
    });
  return `${texts.join("\n\n")}\n`;
}

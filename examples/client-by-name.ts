import { registerHooks } from "node:module";

/** Resolves `@bellhop/client` to its source, because the package is not installed in this repository. */
const CLIENT = new URL("../packages/client/src/index.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(specifier === "@bellhop/client" ? CLIENT : specifier, context),
});

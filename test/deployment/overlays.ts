import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, looked into here and there.
export type KubernetesObject = any;

interface Kustomization {
  readonly resources: readonly string[];
  readonly patches?: readonly {
    readonly target: { readonly kind: string; readonly name: string };
    readonly patch: string;
  }[];
  readonly images?: readonly { readonly name: string; readonly newName: string; readonly digest: string }[];
}

interface Replacement {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = "deploy/kubernetes/overlays";

export const OVERLAYS = ["production", "single"] as const;
export const overlayPath = (name: string): string => join(root, FOLDER, name);

/** The objects of an overlay. Understands what ours use of kustomize: resources, replacing patches, images by digest. */
export function readOverlay(name: (typeof OVERLAYS)[number]): readonly KubernetesObject[] {
  return readKustomization(overlayPath(name));
}

function readKustomization(folder: string): readonly KubernetesObject[] {
  const {
    resources,
    patches = [],
    images = [],
  } = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as Kustomization;
  const objects = resources.flatMap((resource) =>
    resource.endsWith(".yaml")
      ? readObjects(join(folder, resource))
      : readKustomization(join(folder, resource)),
  );
  for (const { target, patch } of patches)
    for (const object of objects)
      if (object.kind === target.kind && object.metadata.name === target.name)
        for (const replacement of parse(patch) as Replacement[]) replace(object, replacement);
  for (const { spec } of objects.filter(({ kind }) => kind === "Deployment"))
    for (const container of spec.template.spec.containers)
      for (const { name, newName, digest } of images)
        if (container.image.replace(/:\w+$/, "") === name) container.image = `${newName}@${digest}`;
  return objects;
}

/** Kubernetes reads version 1.1, in which `0440` is octal. */
export const readDocuments = (text: string): KubernetesObject[] =>
  parseAllDocuments(text, { version: "1.1" }).map((document) => document.toJS());

const readObjects = (path: string): KubernetesObject[] => readDocuments(readFileSync(path, "utf8"));

function replace(object: KubernetesObject, { op, path, value }: Replacement): void {
  if (op !== "replace") throw new Error(`${dirname(path)}: only replacing is understood here`);
  const names = path
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop() ?? "";
  const parent = names.reduce((inner, name) => inner?.[name], object);
  if (parent?.[last] === undefined) throw new Error(`${path} does not exist`);
  parent[last] = value;
}

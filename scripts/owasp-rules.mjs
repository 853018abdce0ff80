// The OWASP rules for .spectral.yaml, imported here so that the check for unused dependencies finds them.
export { default } from "@stoplight/spectral-owasp-ruleset";

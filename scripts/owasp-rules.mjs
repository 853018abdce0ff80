// The OWASP rules as .spectral.yaml extends them: by way of a module, in which the check for unused dependencies sees them.
export { default } from "@stoplight/spectral-owasp-ruleset";

// Before the first paint, so that a chosen theme does not flash. A file of its own: the policy allows no inline script.
try {
  const chosen = localStorage.getItem("bellhop.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; then the system's theme it is.
}

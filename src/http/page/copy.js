// What a page can do without a script, it does; this adds buttons to copy.

for (const figure of document.querySelectorAll("figure[data-copy]")) {
  const code = figure.querySelector("code");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const status = document.createElement("span");
  status.className = "unseen";
  status.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      status.textContent = "Copied";
    } catch {
      // Without the right to write there: select it, so that the keyboard can copy it.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
      status.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
      status.textContent = "";
    }, 2000);
  });
  figure.querySelector("figcaption").append(button, status);
}

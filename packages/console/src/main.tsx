import "./design/tokens.css";
import "./design/font.css";
import "./design/base.css";
import "./design/controls.css";
import "./design/table.css";
import "./design/parts.css";
import "./design/shell.css";
import "./design/finder.css";
import "./design/pages.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { writeNumbersIn } from "./field/format.ts";

const place = document.getElementById("app");
if (place === null) throw new Error("index.html has no #app");
writeNumbersIn(undefined);
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

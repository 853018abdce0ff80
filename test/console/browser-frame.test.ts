import { consoleFixture } from "./console-fixture.ts";
import { describeDocumentation } from "./docs-pages.ts";
import { describeFrame } from "./frame.ts";

const fixture = consoleFixture();
describeFrame(fixture);
describeDocumentation(fixture);

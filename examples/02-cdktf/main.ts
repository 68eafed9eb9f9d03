import { App } from "cdktf";
import { QuickstartStack } from "./stack.ts";

// Writes cdktf.out/stacks/quickstart, which plain `terraform` applies.
const app = new App();
new QuickstartStack(app, "quickstart");
app.synth();

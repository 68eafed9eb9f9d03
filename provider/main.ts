import { outpost } from "./outpost.ts";
import { serve } from "./protocol/serve.ts";

serve(outpost).catch((error: Error) => {
  // Terraform shows the first line of stdout when there is no handshake.
  process.stdout.write(`The outpost provider cannot start: ${error.message}\n`);
  process.exit(1);
});

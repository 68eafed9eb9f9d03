import { TestEnvironment } from "jest-environment-node";

/**
 * A deadline of a test or hook only ends what hangs. How long something may take on a machine that does other work too is not known, so
 * no file's own deadline is shorter than this; what is promised about time, a test asserts itself.
 */
const LEAST_MS = 240_000;

export default class Patient extends TestEnvironment {
  handleTestEvent(event, state) {
    const hook = event.name === "hook_start" ? event.hook : undefined;
    const one = event.name === "test_start" ? event.test : hook;
    if (one) one.timeout = Math.max(one.timeout ?? state.testTimeout, LEAST_MS);
  }
}

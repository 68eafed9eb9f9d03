import { memberOf, notFound, refused, type SecretSource } from "./source.ts";

const PREFIX = "OUTPOST_SECRET_";

/** `env/NAME`: the delegate's own variable OUTPOST_SECRET_NAME, and no other: the rest of its environment is not for tasks. */
export const envSource = (env: NodeJS.ProcessEnv): SecretSource => ({
  async read(path, key) {
    if (!/^[A-Za-z0-9_]{1,128}$/.test(path)) return refused("a variable's name has letters, digits and _ only");
    const name = `${PREFIX}${path}`;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? notFound(`the delegate has no variable ${name}`) : memberOf(value, key);
  },
});

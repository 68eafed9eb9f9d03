/** Sections of Markdown on the provider's own page. */
export const PROVIDER_NOTES = `## After an apply that was killed

Ctrl-C is safe: the provider waits for the answer to what it has sent. A kill (\`SIGKILL\`, a runner that goes away) can leave objects that were
created and are in no state. The next apply then fails with \`it exists already\`, says whether each object is exactly what the configuration
asks for, and gives its \`import\` block. Nothing is taken over by itself, because an object that looks the same may be in the state of another
configuration, and both would change and destroy it.

If no other configuration manages them, take over all at once:

\`\`\`shell
OUTPOST_RECOVER=true terraform apply
\`\`\`

For this one apply, a creation takes over an object that exists already and is exactly what was to be created. One that differs in any
attribute is refused as before. A task (\`outpost_task\`) is made again.

## Misspelt attributes inside objects

Terraform refuses an unknown attribute of a resource, but drops one inside an object without a word: \`source = { target_revison = "v1" }\` deploys
the default branch, and no provider is told. The provider therefore reads the \`.tf\` files of the configuration and of its modules, and warns
of such names with their file and line. It cannot see into objects that are worked out (variables, locals, \`merge\`, \`for\`), or into
\`.tf.json\` files: look at the plan there.`;

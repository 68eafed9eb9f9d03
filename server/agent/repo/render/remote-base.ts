/**
 * Whether kustomize's loader may take a reference for a Git or HTTP address. It decides by its own rules before it looks at the folder, so what
 * looks like an address in any of its spellings counts as one: a file of the repository can be renamed.
 */
export function isRemote(reference: string): boolean {
  const text = reference.trim();
  return (
    // https://…, ssh://…, file://…, git::…, and a scheme that is written with one slash or none.
    /^[a-z][a-z0-9+.-]*:/i.test(text) ||
    /(^|[^a-z0-9])git::/i.test(text) ||
    // user@host:path, and user@host/path, which is SSH as well.
    /^[^/\s]*@[^/\s]+[:/]/.test(text) ||
    // host/path, of the hosts that kustomize knows; www. and a port too.
    /^(www\.)?(github\.com|gitlab\.com|bitbucket\.org)(:\d+)?([:/]|$)/i.test(text) ||
    // Azure DevOps and CodeCommit by name, wherever the name stands.
    /(^|[/@.])(dev\.azure\.com|visualstudio\.com|git-codecommit\.[a-z0-9-]+\.amazonaws\.com)([:/]|$)/i.test(text) ||
    // host/path.git, and path//folder of a clone.
    /(^|\/)[^/]*\.git(\/|\?|$)/i.test(text) ||
    /(^|\/)_git(\/|$)/.test(text) ||
    text.includes("//") ||
    /[?&](ref|version|submodules|timeout)=/i.test(text)
  );
}

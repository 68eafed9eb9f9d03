/** A public GnuPG key made for tests: the service reads keys, so a made-up text would be refused. */
export const GNUPG_KEY = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawJSkBYJKwYBBAHaRw8BAQdApulnQvWpfzCUk9lpTfsZ/XI7MvHSHWLLVraQ
tmYjlIG0I1JlbGVhc2UgUm9ib3QgPHJlbGVhc2VAZXhhbXBsZS5jb20+iJAEExYI
ADgWIQTlzEDxZBQUC+vnvwhanp4SpxBVdQUCawJSkAIbAwULCQgHAgYVCgkICwIE
FgIDAQIeAQIXgAAKCRBanp4SpxBVda5pAP4vWhHEcRE3lUGSkAisAKrSiizcMqM7
6gdOksrPejLangD/dpCqa5lYp90d4YBcrPhhifk7i754XXtALkGl5cMcfw8=
=dg8y
-----END PGP PUBLIC KEY BLOCK-----
`;

/** A host's key, as `ssh-keyscan` prints it behind the host. */
export const SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJm7M1TgnPJ5pjJSnQ3nyB4VoSqLBr8p9mYXlnMRVkbG";

/** Where installed clients are, or why they are not. */
export type Installed = { readonly dir: string } | { readonly missing: string }

/** Installs the packages of a folder beside this file if need be. */
export function installed(set: string): Promise<Installed>

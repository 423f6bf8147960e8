export declare const VERSIONS: readonly ['0.38.26', '0.40.0']
export declare const TESTED_VERSION: (typeof VERSIONS)[number]
export declare function cometbftProgram(
  version: (typeof VERSIONS)[number],
  name?: 'cometbft' | 'abci-cli',
): Promise<{ readonly program: string } | { readonly missing: string }>

// Tests each row of the table of settings: the default, a value from the file, the environment and
// a flag, a wrong type, and a value out of range, all by value. A setting without a row here fails
// the first test.

import { describe, expect, it } from 'vitest'
import { environmentName, resolveSettings, SETTING_KEYS, type SettingError, type SettingKey, settingOf } from '../../ts/config/index.ts'
import { DEV_MNEMONIC } from '../../ts/config/tables/dev.ts'

/**
 * Default; text for flag and variable; the same value as TOML; the resolved value; TOML of a wrong
 * type; text that is out of range.
 */
type Row = readonly [byDefault: unknown, text: string, toml: string, value: unknown, wrong: string, outside: string]

const HOSTS = ['0.0.0.0', '"0.0.0.0"', '0.0.0.0', '1', 'a b'] as const
const PORTS = ['17', '17', 17, '"17"', '65536'] as const
const OFF = ['false', 'false', false, '"false"', '0'] as const
const ON = ['true', 'true', true, '1', 'yes'] as const
const seconds = (fromMs: number): Row => [fromMs, '7s', '"7s"', 7000, '7', '999ms']
const count = (byDefault: unknown, outside = '0'): Row => [byDefault, '7', '7', 7, '"7"', outside]
const ORIGIN = ['https://a.example', '["https://a.example"]', ['https://a.example'], '"*"', 'a.example'] as const

const ROWS: Record<SettingKey, Row> = {
  'evm.http_enabled': [true, ...OFF],
  'evm.http_host': ['127.0.0.1', ...HOSTS],
  'evm.http_port': [8545, ...PORTS],
  'evm.explorer': ['auto', ...OFF],
  'evm.explorer_artifacts': [[], 'out, artifacts', '["out", "artifacts"]', ['out', 'artifacts'], '"out"', 'a\0b'],
  'evm.ws_enabled': [true, ...OFF],
  'evm.ws_host': ['127.0.0.1', ...HOSTS],
  'evm.ws_port': [8546, ...PORTS],
  'evm.namespaces': [
    ['eth', 'net', 'web3', 'debug', 'txpool', 'rpc', 'chain', 'trace', 'ots', 'erigon'],
    'eth, rpc',
    '["eth", "rpc"]',
    ['eth', 'rpc'],
    '"eth"',
    'Eth!',
  ],
  'evm.deny_list': [[], 'eth_call', '["eth_call"]', ['eth_call'], '[1]', 'call'],
  'evm.enabled_legacy_chain_apis': [
    ['chain_getChainAddress', 'chain_getEVMAddress', 'chain_getCosmosTx'],
    'chain_getTransactionReceipt',
    '["chain_getTransactionReceipt"]',
    ['chain_getTransactionReceipt'],
    '"chain_getCosmosTx"',
    'getCosmosTx',
  ],
  'evm.cors_origins': [[], ...ORIGIN],
  'evm.ws_origins': [[], ...ORIGIN],
  'evm.allowed_hosts': [['localhost'], 'a.example', '["a.example"]', ['a.example'], '"*"', 'a/b'],
  'evm.read_timeout': seconds(30_000),
  'evm.read_header_timeout': seconds(30_000),
  'evm.write_timeout': seconds(30_000),
  'evm.idle_timeout': seconds(120_000),
  'evm.shutdown_timeout': [10_000, '7s', '"7s"', 7000, '7', '2h'],
  'evm.shutdown_delay': [250, '7s', '"7s"', 7000, '7', '2h'],
  'evm.ready_max_head_age': [0, '7s', '"7s"', 7000, '7', '366d'],
  'evm.max_open_connections': count(2000),
  'evm.max_share_per_client': [0.5, '0.25', '0.25', 0.25, 'true', '1.5'],
  'evm.max_request_body_bytes': [5_242_880, '7 MiB', '"7 MiB"', 7_340_032, 'true', '1023'],
  'evm.max_request_values': [50_000, '2000', '2000', 2000, 'true', '999'],
  'evm.max_concurrent_request_bytes': [134_217_728, 'off', '"off"', 0, 'true', '2 KB'],
  'evm.body_read_idle_timeout': [10_000, 'off', '"off"', 0, '7', '2h'],
  'evm.ws_admission_timeout': [30_000, '250ms', '"250ms"', 250, '250', '61m'],
  'evm.batch_request_limit': count(1000),
  'evm.batch_response_max_size': [25_000_000, '1 KiB', '1024', 1024, 'true', '1 B'],
  'evm.batch_concurrency': count(8, '1025'),
  'evm.ws_max_payload_bytes': ['auto', '1 GiB', '"1 GiB"', 1_073_741_824, 'true', '2 GiB'],
  'evm.ws_max_in_flight': count(64),
  'evm.gzip_threshold_bytes': [16_384, '0', '0', 0, 'true', '-1'],
  'evm.gzip_level': count(1, '10'),
  'evm.rate_limiting_enabled': [false, ...ON],
  'evm.ip_rate_limit_rps': count(200),
  'evm.ip_rate_limit_burst': count(1000),
  'evm.trusted_proxy_cidrs': [[], '10.0.0.0/8,::1', '["10.0.0.0/8", "::1"]', ['10.0.0.0/8', '::1'], '"10.0.0.0/8"', '10.0.0.0/33'],
  'evm.client_version': ['auto', 'anvil/v1', '"anvil/v1"', 'anvil/v1', '1', 'a b'],
  'evm.simulation_gas_limit': [50_000_000, '21_000', '21_000', 21_000, '"21000"', '20999'],
  'evm.simulation_evm_timeout': [5000, '1m30s', '"1m30s"', 90_000, '90', '0'],
  'evm.max_state_override_accounts': [100, 'off', '0', 0, '"0"', '-1'],
  'evm.max_state_override_slots': [1000, 'off', '0', 0, '"0"', '-1'],
  'evm.max_estimate_gas_calls': [100, 'off', '0', 0, '"0"', '-1'],
  'evm.max_concurrent_simulation_calls': count('auto'),
  'evm.max_log_no_block': count(10_000),
  'evm.max_log_bytes': [67_108_864, '1 MiB', '1048576', 1_048_576, 'true', '1000'],
  'evm.max_blocks_for_log': [0, '2000', '2000', 2000, '"2000"', '-1'],
  'evm.filter_timeout': seconds(120_000),
  'evm.max_subscriptions_new_head': count(10_000, '-1'),
  'evm.max_subscriptions_logs': count(1000, '-1'),
  'evm.max_tx_pool_txs': count(1000),
  'evm.fee_history_max_blocks': count(1024),
  'evm.tx_fee_cap_gwei': [1_000_000_000, 'none', '"none"', 'none', '"off"', '0'],
  'evm.forward_url': ['none', 'http://a.example/k', '"http://a.example/k"', 'http://a.example/k', '1', 'ftp://a.example'],
  'evm.forward_timeout': [10_000, '7s', '"7s"', 7000, '7', '2h'],
  'evm.forward_max_in_flight': count(64),
  'evm.allow_unprotected_txs': [false, ...ON],
  'evm.trace_transaction_timeout': [5000, '250ms', '"250ms"', 250, '250', '2h'],
  'evm.trace_timeout': [300_000, '1.5s', '"1.5s"', 1500, '1.5', '25h'],
  'evm.trace_stall_timeout': [30_000, '250ms', '"250ms"', 250, '250', '0s'],
  'evm.max_trace_struct_log_bytes': [4_294_967_296, '32 MiB', '"32 MiB"', 33_554_432, 'true', '-1'],
  'evm.trace_allowed_tracers': ['all', 'callTracer', '["callTracer"]', ['callTracer'], '"callTracer"', 'calltracer'],
  'evm.strict_trace_options': [false, ...ON],
  'evm.trace_allow_js_tracers': [true, ...OFF],
  'evm.trace_js_workers': count('auto'),
  'evm.trace_js_queue_size': count(64),
  'evm.trace_js_memory_bytes': [268_435_456, '1 GiB', '"1 GiB"', 1_073_741_824, 'true', '31 MiB'],
  'evm.trace_js_output_bytes': [67_108_864, '1 KiB', '1024', 1024, 'true', '1023'],
  'evm.trace_js_require_confinement': ['system-calls', 'all', '"all"', 'all', '1', 'some'],
  'evm.max_concurrent_trace_calls': ['auto', 'off', '0', 0, '"0"', '-1'],
  'evm.max_trace_lookback_blocks': [10_000, 'off', '-1', -1, '"-1"', '-2'],
  'evm.max_trace_filter_blocks': [1000, '7', '7', 7, '"7"', '0'],
  'evm.max_trace_filter_results': [100_000, '7', '7', 7, '"7"', '-1'],
  'evm.address_index': [true, ...OFF],
  'evm.address_index_window_blocks': [0, '7', '7', 7, '"7"', '-1'],
  'evm.enable_parallelized_block_trace': [true, ...OFF],
  'evm.trace_source': ['auto', 'capsule', '"capsule"', 'capsule', '7', 'both'],
  'evm.trace_capsule_window_blocks': [0, '7', '7', 7, '"7"', '-1'],
  'evm.trace_bake_enabled': [false, ...ON],
  'evm.trace_bake_workers': count(1),
  'evm.trace_bake_queue_size': count(4096),
  'evm.trace_bake_tracers': [['callTracer'], 'flatCallTracer', '["flatCallTracer"]', ['flatCallTracer'], '"callTracer"', 'opcodeTracer'],
  'evm.trace_bake_further_tracers': [[], 'parityTracer', '["parityTracer"]', ['parityTracer'], '"parityTracer"', 'callTracer'],
  'evm.trace_bake_window_blocks': count(0, '-1'),
  'evm.trace_bake_timeout': [60_000, '250ms', '"250ms"', 250, '250', '2h'],
  'evm.trace_bake_use_snapshot': [false, ...ON],
  'evm.trace_bake_snapshot_window': count(64),
  'evm.trace_bake_canonical_configs': [false, ...ON],
  'evm.trace_cache_hot_bytes': [134_217_728, '7 MiB', '"7 MiB"', 7_340_032, 'true', '-1'],
  'littable.MetricsEnabled': [false, ...ON],
  'littable.MetricsPort': [9101, ...PORTS],
  'littable.extra_roots': [[], '/v, /w', '["/v", "/w"]', ['/v', '/w'], '"/v"', 'v'],
  'littable.allow_network_fs': [false, ...ON],
  'littable.segment_bytes': [268_435_456, '7 MiB', '"7 MiB"', 7_340_032, 'true', '65535'],
  'littable.segment_keys': [65_536, '17', '17', 17, '"17"', '15'],
  'littable.index_memory_bytes': [268_435_456, '7 MiB', '"7 MiB"', 7_340_032, 'true', '1048575'],
  'littable.read_cache_bytes': [0, '7 MiB', '"7 MiB"', 7_340_032, 'true', '-1'],
  'littable.write_cache_bytes': [0, '7 MiB', '"7 MiB"', 7_340_032, 'true', '-1'],
  'littable.max_open_files': [256, '17', '17', 17, '"17"', '7'],
  'littable.iterator_lease': seconds(600_000),
  'littable.gc_period': [10_000, '7s', '"7s"', 7000, '7', '9ms'],
  'state-commit.flatkv.fsync': ['block', 'interval:7', '"interval:7"', 'interval:7', '200', 'interval:0'],
  'state-commit.flatkv.state_history_blocks': [0, '7', '7', 7, '"7"', '-1'],
  'state-commit.flatkv.snapshot_interval_blocks': [10_000, '7', '7', 7, '"7"', '-1'],
  'state-commit.flatkv.snapshot_keep': count(2),
  'state-commit.flatkv.snapshot_on_stop': [true, ...OFF],
  'state-commit.flatkv.wal_max_bytes': [8_589_934_592, '7 MiB', '"7 MiB"', 7_340_032, 'true', '-1'],
  'state-commit.flatkv.memory_budget_bytes': [1_073_741_824, '64 MiB', '"64 MiB"', 67_108_864, 'true', '1000'],
  'state-commit.flatkv.min_free_bytes': [1_073_741_824, '7 MiB', '"7 MiB"', 7_340_032, 'true', '-1'],
  'state-commit.flatkv.max_open_files': [512, '17', '17', 17, '"17"', '15'],
  'state-commit.flatkv.enable-kvdb-metrics': [true, ...OFF],
  'state-commit.flatkv.account.EnableMetrics': [true, ...OFF],
  'state-commit.flatkv.code.EnableMetrics': [true, ...OFF],
  'state-commit.flatkv.storage.EnableMetrics': [true, ...OFF],
  'state-commit.flatkv.legacy.EnableMetrics': [true, ...OFF],
  'state-commit.flatkv.metadata.EnableMetrics': [true, ...OFF],
  'metrics.enabled': [true, ...OFF],
  'metrics.host': ['127.0.0.1', ...HOSTS],
  'metrics.port': [9101, ...PORTS],
  'metrics.legacy': [true, ...OFF],
  'workers.read_threads': count('auto'),
  'workers.read_queue': count(4096),
  'workers.heavy_threads': count('auto'),
  'workers.heavy_queue': count(1024),
  'txpool.max_transactions': count(5000),
  'txpool.max_per_account': count(64),
  'txpool.max_transaction_bytes': [131_072, '1 KiB', '1024', 1024, 'true', '17 MiB'],
  'txpool.max_bytes': [134_217_728, '1 GiB', '"1 GiB"', 1_073_741_824, 'true', '1 KiB'],
  'txpool.price_bump_percent': count(10, '1001'),
  'txpool.min_tip_wei': count(0, '-1'),
  'engine.enabled': [false, ...ON],
  'engine.host': ['127.0.0.1', ...HOSTS],
  'engine.port': [8551, ...PORTS],
  'engine.jwt_secret_file': ['auto', '/etc/jwt.hex', '"/etc/jwt.hex"', '/etc/jwt.hex', '1', ''],
  'engine.max_request_body_bytes': [134_217_728, '7 MiB', '"7 MiB"', 7_340_032, '"7 MB"', '1'],
  'engine.ready_max_silence': [120_000, 'off', '"off"', 0, '7', '2h'],
  'consensus.enabled': [false, ...ON],
  'consensus.supervise': [true, ...OFF],
  'consensus.cometbft_bin': ['auto', '/opt/cometbft', '"/opt/cometbft"', '/opt/cometbft', '1', ''],
  'consensus.abci_address': ['auto', 'unix:///a.sock', '"unix:///a.sock"', 'unix:///a.sock', '1', 'tcp://0.0.0.0:7'],
  'consensus.rpc_host': ['127.0.0.1', ...HOSTS],
  'consensus.rpc_port': [26_657, ...PORTS],
  'consensus.p2p_host': ['0.0.0.0', ...HOSTS],
  'consensus.p2p_port': [26_656, ...PORTS],
  'consensus.timeout_commit': [1000, '7s', '"7s"', 7000, '7', '2h'],
  'consensus.tx_index': ['kv', 'null', '"null"', 'null', 'true', 'psql'],
  'consensus.proposal_budget': [500, '7s', '"7s"', 7000, '7', '0s'],
  'consensus.retain_blocks': count(0, '-1'),
  'consensus.snapshot_interval_blocks': [0, 'off', '"off"', 0, 'true', '-1'],
  'consensus.redirect': ['off', 'sender', '"sender"', 'sender', 'true', 'all'],
  'consensus.validator_rpc': [[], 'http://a.example', '["http://a.example"]', ['http://a.example'], '"http://a.example"', 'a.example'],
  'consensus.redirect_timeout': [5000, '7s', '"7s"', 7000, '7', '0s'],
  'consensus.redirect_token_file': ['none', '/t', '"/t"', '/t', '1', ''],
  'consensus.ready_max_block_age': [10_000, 'off', '"off"', 0, '7', '2h'],
  'consensus.ready_lag_blocks': count(20, '-1'),
  'rest.enabled': [true, ...OFF],
  'rest.host': ['127.0.0.1', ...HOSTS],
  'rest.port': [1317, ...PORTS],
  'rest.max_page': count(1000),
  'grpc.enabled': [true, ...OFF],
  'grpc.host': ['127.0.0.1', ...HOSTS],
  'grpc.port': [9090, ...PORTS],
  'evm.debug_host': ['127.0.0.1', ...HOSTS],
  'evm.debug_port': [0, ...PORTS],
  'evm.auth_token_file': ['none', '/etc/tokens', '"/etc/tokens"', '/etc/tokens', '1', ''],
  'evm.auth_jwt_file': ['none', '/etc/jwt.hex', '"/etc/jwt.hex"', '/etc/jwt.hex', '1', ''],
  'evm.auth_listeners': [['http', 'ws', 'debug', 'rest', 'grpc'], 'ws', '["ws"]', ['ws'], '"ws"', 'https'],
  'evm.auth_namespaces': [['*'], 'debug', '["debug"]', ['debug'], '"debug"', 'Debug!'],
  'evm.ws_ping_interval': [30_000, 'off', '"off"', 0, '7', '2h'],
  'evm.slow_request_threshold': [1000, 'off', '"off"', 0, '7', '2h'],
  'workers.heavy_wait': [30_000, '250ms', '"250ms"', 250, '250', '0s'],
  'workers.heavy_nice': count(5, '20'),
  'workers.parked_traces': [8, '7', '7', 7, '257', '-1'],
  'memory.budget_bytes': ['auto', 'off', '0', 0, 'true', '-1'],
  'log.level': ['info', 'debug', '"debug"', 'debug', '1', 'loud'],
  'log.levels': [[], 'bake=debug', '["bake=debug"]', ['bake=debug'], '"bake=debug"', 'bake'],
  'log.format': ['auto', 'json', '"json"', 'json', '1', 'xml'],
  'dev.gas_limit': ['auto', '1_000_000', '1_000_000', 1_000_000, '"30 million"', '999999'],
  'dev.chain_id': count('auto'),
  'dev.hardfork': ['auto', 'cancun', '"cancun"', 'cancun', '1', 'nosuch'],
  'dev.base_fee': count('auto', '-1'),
  'dev.timestamp': count('now', '-1'),
  'dev.accounts': count(10),
  'dev.mnemonic': [DEV_MNEMONIC, 'a b c d e f g h i j k l', '"a b c d e f g h i j k l"', 'a b c d e f g h i j k l', '1', 'a b c'],
  'dev.balance': ['10000', '0.5', '"0.5"', '0.5', '1', 'much'],
  'dev.block_time': ['none', '0.5', '"500ms"', 500, 'true', '0'],
  'dev.mixed_mining': [false, ...ON],
  'dev.no_mining': [false, ...ON],
  'dev.order': ['fees', 'fifo', '"fifo"', 'fifo', '1', 'lifo'],
  'dev.auto_impersonate': [false, ...ON],
  'dev.code_size_limit': ['auto', '30000', '30000', 30_000, '"big"', '0'],
  'dev.throw_on_revert': [false, 'true', 'true', true, '"never"', '1'],
  'dev.silent': [false, ...ON],
  'dev.verbose': [false, ...ON],
  'dev.json': [false, ...ON],
  'dev.fork_url': ['none', 'http://a.example/k', '"http://a.example/k"', 'http://a.example/k', '1', 'ftp://a.example'],
  'dev.fork_block': count('latest', '-1'),
  'dev.fork_timeout': [30_000, '7s', '"7s"', 7000, '7', '99ms'],
  'dev.fork_cache_bytes': [268_435_456, '7 MiB', '"7 MiB"', 7_340_032, '"7 MB"', '1'],
}

const dot = (key: SettingKey): number => key.lastIndexOf('.')
const inFile = (key: SettingKey, toml: string) => ({
  path: 'node.toml',
  text: `[${key.slice(0, dot(key))}]\n${key.slice(dot(key) + 1)} = ${toml}\n`,
})

/** What resolving refuses; empty where it does not. */
function refusal(sources: Parameters<typeof resolveSettings>[0]): readonly { where: string; message: string }[] {
  try {
    resolveSettings(sources)
  } catch (e) {
    return (e as SettingError).problems
  }
  return []
}

it('has a row for every setting', () => {
  expect(Object.keys(ROWS)).toEqual(SETTING_KEYS)
})

describe.each(SETTING_KEYS.map((key) => [key, ...ROWS[key]] as const))('%s', (key, byDefault, text, toml, value, wrong, outside) => {
  const variable = environmentName(key)

  it('default, file, environment, flag: each wins over those before it', () => {
    const file = inFile(key, toml)
    const at = (sources: Parameters<typeof resolveSettings>[0]) => {
      const { settings, origins, from } = resolveSettings(sources)
      return [settings[key], origins[key], from[key]]
    }
    const print = (v: unknown): string => String(Array.isArray(v) ? v.join(',') : v)
    const defaultText = print(settingOf(key).kind.plain(settingOf(key).default))
    expect(at({})).toEqual([byDefault, 'default', 'default'])
    expect(at({ file })).toEqual([value, 'file', 'node.toml:2:1'])
    expect(at({ environment: { [variable]: text } })).toEqual([value, 'environment', variable])
    expect(at({ environment: { [variable]: defaultText }, file })).toEqual([byDefault, 'environment', variable])
    expect(at({ flags: new Map([[key, text]]) })).toEqual([value, 'flag', `--${key}`])
    expect(at({ flags: new Map([[key, text]]), environment: { [variable]: defaultText }, file })).toEqual([value, 'flag', `--${key}`])
  })

  it('refuses a wrong type and what is out of range, with the place and what it takes', () => {
    const { takes } = settingOf(key).kind
    expect(refusal({ file: inFile(key, wrong) })).toEqual([
      { where: `node.toml:2:1: ${key}`, message: expect.stringContaining(`takes ${takes}, not `) },
    ])
    const message = expect.stringMatching(/^takes .+, not "/)
    expect(refusal({ environment: { [variable]: outside } })).toEqual([{ where: variable, message }])
    expect(refusal({ flags: new Map([[key, outside]]) })).toEqual([{ where: `--${key}`, message }])
  })
})

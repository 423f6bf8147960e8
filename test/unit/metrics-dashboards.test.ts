// Dashboards and alerts query existing series: every query parses, names instruments and labels of
// the tables, and no instrument is left out.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { metricsCatalog } from '../../ts/core/native.ts'
import { parseCatalog } from '../../ts/metrics/native.ts'
import { FIRST } from '../../ts/metrics/page.ts'
import { INSTRUMENTS, type Instrument, sampleName } from '../../ts/rpc/instruments.ts'

const DIR = path.resolve(import.meta.dirname, '../../ts/metrics/dashboards')
const TABLE: readonly Instrument[] = [...Object.values(INSTRUMENTS), ...parseCatalog(metricsCatalog())]

/** Labels that every series gets from the server that scrapes it. */
const TARGET_LABELS = ['instance', 'job']

/** Instruments by the names of their samples, with the labels that those have. */
const SAMPLES = new Map<string, { instrument: Instrument | undefined; labels: string[] }>([
  // Written by the Prometheus server itself.
  ['up', { instrument: undefined, labels: TARGET_LABELS }],
])
for (const instrument of TABLE) {
  const labels = [...TARGET_LABELS, ...instrument.labels.map((l) => l.key)]
  const add = (name: string, ...more: string[]): void => void SAMPLES.set(name, { instrument, labels: [...labels, ...more] })
  if (instrument.kind === 'histogram') add(`${instrument.name}_bucket`, 'le')
  else if (instrument.kind === 'summary') add(instrument.name, 'quantile')
  else add(sampleName(instrument))
  if (instrument.kind === 'histogram' || instrument.kind === 'summary') {
    add(`${instrument.name}_sum`)
    add(`${instrument.name}_count`)
  }
}

/** A query as Grafana sends it. */
const filled = (expr: string): string => expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.+')

const texts = (node: SyntaxNode, name: string, source: string): string[] =>
  node.getChildren(name).map((child) => source.slice(child.from, child.to))

/** What is wrong with a query, and the instruments that it names. */
function check(expr: string): { wrong: string[]; used: Set<Instrument> } {
  const source = filled(expr)
  const wrong: string[] = []
  const used = new Set<Instrument>()
  const known = new Set<string>()
  const grouped: string[] = []
  parser.parse(source).iterate({
    enter({ type, node }) {
      if (type.isError) wrong.push(`does not parse at ${node.from}`)
      if (type.name === 'GroupingLabels') grouped.push(...texts(node, 'LabelName', source))
      if (type.name !== 'VectorSelector') return
      const [name = ''] = texts(node, 'Identifier', source)
      const sample = SAMPLES.get(name)
      if (sample === undefined) {
        wrong.push(`unknown metric ${name}`)
        return
      }
      if (sample.instrument !== undefined) used.add(sample.instrument)
      for (const label of sample.labels) known.add(label)
      for (const matcher of node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []) {
        const [label = ''] = texts(matcher, 'LabelName', source)
        if (!sample.labels.includes(label)) wrong.push(`${name} has no label ${label}`)
        const [operator] = texts(matcher, 'MatchOp', source)
        const value = JSON.parse(texts(matcher, 'StringLiteral', source)[0] as string) as string
        const values = sample.instrument?.labels.find((l) => l.key === label)?.values
        if (operator === '=' && values !== undefined && !values.includes(value)) wrong.push(`${label} is never ${value}`)
      }
    },
  })
  for (const label of grouped) if (!known.has(label)) wrong.push(`groups by ${label}, which nothing has`)
  return { wrong, used }
}

interface Panel {
  readonly title: string
  readonly description?: string
  readonly id: number
  readonly type: string
  readonly gridPos: { x: number; y: number; w: number; h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[] }
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

const dashboards = fs
  .readdirSync(DIR)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, dashboard: JSON.parse(fs.readFileSync(path.join(DIR, file), 'utf8')) as Dashboard }))
const ALERTS = path.join(DIR, 'alerts.yml')
const ROOT = path.resolve(import.meta.dirname, '../..')
const rules = (parseYaml(fs.readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules)

/** When rules fire, for promtool. */
const ALERT_TESTS = path.join(DIR, 'alerts_test.yml')

interface RuleTest {
  readonly name: string
  readonly promql_expr_test?: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[]
}

/** Runs promtool; skips the test where it is not installed. */
function promtool(skip: (note: string) => never, ...args: readonly string[]) {
  const ran = spawnSync('promtool', args, { encoding: 'utf8' })
  if (ran.error !== undefined) {
    console.log('skipped: promtool is not installed')
    skip('skipped: promtool is not installed')
  }
  return ran
}

describe('the first metrics to look at', () => {
  it('are ten, of the tables', () => {
    expect(FIRST).toHaveLength(10)
    const names = new Set(TABLE.map(({ name }) => name))
    for (const [instrument, query] of FIRST.slice(1)) {
      expect(names.has(instrument), instrument).toBe(true)
      expect(query).toContain(instrument)
    }
  })
})

describe('the checker of these tests', () => {
  it.each([
    ['rate(flatkv_commit_latency_count[5m', 'does not parse'],
    ['flatkv_nothing', 'unknown metric flatkv_nothing'],
    ['flatkv_num_kv_pairs', 'unknown metric flatkv_num_kv_pairs'],
    ['flatkv_commit_latency_seconds_count', 'unknown metric'],
    ['flatkv_current_version{db="code"}', 'no label db'],
    ['flatkv_pending_writes{db="nothing"}', 'never nothing'],
    ['sum by (table) (flatkv_current_version)', 'groups by table'],
  ])('refuses %s', (expr, why) => {
    expect(check(expr).wrong.join()).toContain(why)
  })
})

describe('dashboards', () => {
  it('show every instrument of both tables', () => {
    const shown = new Set(
      dashboards.flatMap(({ dashboard }) => dashboard.panels.flatMap((p) => (p.targets ?? []).flatMap((t) => [...check(t.expr).used]))),
    )
    expect(TABLE.filter((instrument) => !shown.has(instrument)).map((i) => i.name)).toEqual([])
  })

  it.each(dashboards)('$file asks for what there is', ({ dashboard }) => {
    const wrong = dashboard.panels.flatMap((p) =>
      (p.targets ?? []).flatMap((t) => check(t.expr).wrong.map((w) => `${p.title}: ${t.expr}: ${w}`)),
    )
    expect(wrong).toEqual([])
    for (const { query } of dashboard.templating.list) {
      const metric = typeof query === 'string' ? undefined : /^label_values\(([^,]+), instance\)$/.exec(query.query)?.[1]
      if (metric !== undefined) expect(SAMPLES.has(metric), metric).toBe(true)
    }
  })

  it.each(dashboards)('$file has panels of its own ids that do not overlap', ({ dashboard: { panels } }) => {
    expect(new Set(panels.map((p) => p.id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), title).toBe(false)
          taken.add(`${x},${y}`)
        }
    }
  })

  it.each(dashboards)('$file says of each panel what it shows', ({ dashboard: { panels } }) => {
    const without = panels.filter(({ title, description = '' }) => description.length < 20 || description === title)
    expect(without.map(({ title }) => title)).toEqual([])
  })

  it('have names and ids of their own', () => {
    expect(new Set(dashboards.map(({ dashboard }) => dashboard.uid)).size).toBe(dashboards.length)
    expect(new Set(dashboards.map(({ dashboard }) => dashboard.title)).size).toBe(dashboards.length)
  })
})

describe('alerts', () => {
  it.each(rules)('$alert asks for what there is, and says how grave it is', ({ expr, labels, annotations }) => {
    expect(check(expr).wrong).toEqual([])
    expect(['info', 'warning', 'critical']).toContain(labels.severity)
    expect(annotations.summary).not.toBe('')
  })

  it.each(rules)('$alert says what to do and has its section in docs/alerts.md', ({ alert, labels, annotations }) => {
    expect(annotations.description.length).toBeGreaterThan(40)
    expect(annotations.runbook_url).toBe(`docs/alerts.md#${alert.toLowerCase()}`)
    const sections = fs.readFileSync(path.join(ROOT, 'docs/alerts.md'), 'utf8').split(/^## /m)
    const section = sections.find((text) => text.startsWith(`${alert}\n`)) ?? ''
    const severity = labels.severity.charAt(0).toUpperCase() + labels.severity.slice(1)
    expect(section).toMatch(new RegExp(`^${alert}\n\n${severity}\\. `))
    expect(section).toMatch(/^1\. /m)
  })

  it('have no section in docs/alerts.md that is of no alert', () => {
    const titles = [...fs.readFileSync(path.join(ROOT, 'docs/alerts.md'), 'utf8').matchAll(/^## (.*)$/gm)].map(([, title]) => title)
    expect(titles).toEqual(rules.map(({ alert }) => alert))
  })

  it('have a test each of when they fire and when they do not', () => {
    const { tests } = parseYaml(fs.readFileSync(ALERT_TESTS, 'utf8')) as { tests: RuleTest[] }
    for (const { alert } of rules) {
      const checks = tests.filter(({ name }) => name === alert).flatMap((each) => each.promql_expr_test ?? [])
      const fires = (labels: string): boolean => labels.startsWith(`{alertname="${alert}", `)
      expect(
        checks.some(({ exp_samples }) => exp_samples.some(({ labels }) => fires(labels))),
        `${alert} fires`,
      ).toBe(true)
      expect(
        checks.some(({ exp_samples }) => exp_samples.length === 0),
        `${alert} is silent`,
      ).toBe(true)
    }
  })

  it('are rules that a Prometheus server takes', ({ skip }) => {
    const { status, stdout, stderr } = promtool(skip, 'check', 'rules', ALERTS)
    expect(status, stderr).toBe(0)
    expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`)
  })

  it('fire where they should, and are silent where not', ({ skip }) => {
    const { status, stdout, stderr } = promtool(skip, 'test', 'rules', ALERT_TESTS)
    expect(status, stdout + stderr).toBe(0)
    expect(stdout).toContain('SUCCESS')
  })

  it('are loaded by the example of a configuration', ({ skip }) => {
    const { status, stdout, stderr } = promtool(skip, 'check', 'config', path.join(ROOT, 'docs/examples/prometheus.yml'))
    expect(status, stdout + stderr).toBe(0)
    expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`)
  })

  it('of requests are 0 in dashboards before the first request', ({ skip }) => {
    const exprs = dashboards
      .flatMap(({ dashboard }) => dashboard.panels.flatMap((p) => (p.targets ?? []).map((t) => t.expr)))
      .filter((expr) => /^\(*sum .*(evmrpc_request_latency_seconds_count|chain_rpc_request_counter)/.test(expr) && !/_sum\{/.test(expr))
    expect(exprs.length).toBeGreaterThan(5)
    // A running node without requests: it has no series of requests.
    const series = [{ series: 'up{instance="a"}', values: '1x10' }]
    const promql = exprs.map((expr) => ({ expr: filled(expr), eval_time: '5m', exp_samples: [{ labels: '{}', value: 0 }] }))
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-')), 'test.json')
    fs.writeFileSync(file, JSON.stringify({ tests: [{ interval: '1m', input_series: series, promql_expr_test: promql }] }))
    try {
      const { status, stdout, stderr } = promtool(skip, 'test', 'rules', file)
      expect(status, stdout + stderr).toBe(0)
    } finally {
      fs.rmSync(path.dirname(file), { recursive: true })
    }
  })

  it('and dashboards have queries that promtool takes', ({ skip }) => {
    const groups = dashboards.map(({ file, dashboard }) => ({
      name: file,
      rules: dashboard.panels.flatMap((p) => (p.targets ?? []).map((t, i) => ({ record: `panel_${p.id}_${i}`, expr: filled(t.expr) }))),
    }))
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-')), 'queries.json')
    fs.writeFileSync(file, JSON.stringify({ groups }))
    try {
      const { status, stderr } = promtool(skip, 'check', 'rules', file)
      expect(status, stderr).toBe(0)
    } finally {
      fs.rmSync(path.dirname(file), { recursive: true })
    }
  })
})

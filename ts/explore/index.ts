// Traces for readers: the tree of calls, where it failed, names, gas. Pure: no Node module, no DOM,
// nothing else of ours.
export { signaturesOfAbi } from './abi.ts'
export { type BalanceChange, balanceChanges } from './balances.ts'
export { type Boxes, type FlameOrder, flameBoxes } from './boxes.ts'
export { callData } from './call-args.ts'
export { type ComparedCall, type Comparison, compareTrees, type Difference } from './compare.ts'
export { comparisonText } from './compare-text.ts'
export { failureChain, innerFailures, type Link, type Role } from './failure.ts'
export { flameName, flameSvg, folded, hue, speedscope } from './flame.ts'
export { flameHtml } from './flame-html.ts'
export { functionBoxes, type StackRow } from './functions.ts'
export { type Hot, hotFunctions } from './hot.ts'
export { type Argument, BadSignature, type Decoded, Names, SIGNATURES_MAX } from './names.ts'
export { opcodeHint } from './opcode-hints.ts'
export { memoryWritten, opKind, stackUse } from './opcodes.ts'
export { withBlockOverride, withStateOverride } from './overrides.ts'
export { printable, SHOWN_MAX } from './printable.ts'
export { namedSlot, type Preimages } from './slots.ts'
export { type AccountChange, type Change, type RawAccount, type RawDiff, type SlotChange, stateChanges } from './state-diff.ts'
export { stateText } from './state-text.ts'
export { type OpcodeRow, opcodeText, type RawStep, STEPS_HEADING, stepText } from './steps.ts'
export {
  ether,
  failure,
  failureText,
  gasText,
  grouped,
  type Heading,
  headingText,
  markText,
  type TreeOptions,
  target,
  transactionText,
  treeText,
} from './text.ts'
export {
  buildTree,
  type EventItem,
  FRAMES_MAX,
  type Frame,
  isCreation,
  isFrame,
  preorder,
  type RawFrame,
  type RawLog,
  TooManyFrames,
} from './tree.ts'
export {
  amountOf,
  BadWhatIf,
  blockOf,
  castOf,
  curlOf,
  type MinedTransaction,
  objectText,
  replayOf,
  steppedOf,
  traceCallOf,
  viemOf,
  type WhatIf,
  whatIfOf,
} from './what-if.ts'

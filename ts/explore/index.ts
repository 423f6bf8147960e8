// Traces for readers: the tree of calls, where it failed, names, gas. Pure: no Node module, no DOM, nothing else of ours.
export { failureChain, type Link, type Role } from './failure.ts'
export { flameName, flameSvg, folded, speedscope } from './flame.ts'
export { BadSignature, Names, SIGNATURES_MAX } from './names.ts'
export { printable, SHOWN_MAX } from './printable.ts'
export { ether, failureText, gasText, type Heading, headingText, type TreeOptions, transactionText, treeText } from './text.ts'
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

// The forms of a witness.
import { BadValue, type Codec, word } from './codec.ts'

/** The names of the forms, those of reth. */
export const witnessMode: Codec<'canonical' | 'legacy'> = (value) => {
  const mode = word(value)
  if (mode !== 'canonical' && mode !== 'legacy') throw new BadValue('want canonical or legacy')
  return mode
}

// Where a text may be cut: between two graphemes, so that no accent, flag or family falls apart.
const LOOK = 64; // characters after the bound that tell whether it lies within a grapheme
const GRAPHEME_MAX = 512; // a longer one is cut all the same

const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : undefined;

/** The length of the longest beginning of at most max characters that ends with a grapheme. */
export function cutAt(text: string, max: number): number {
  if (text.length <= max) return text.length;
  const end = segmenter?.segment(text.slice(0, max + LOOK)).containing(max)?.index ?? 0;
  if (end > 0 && end >= max - GRAPHEME_MAX) return end;
  return /[\ud800-\udbff]/.test(text[max - 1] as string) ? max - 1 : max; // two halves of a character stay together
}

// Exact sums of counters, as the host has them: the nearest number to what the writes add up to, in any order.
import { Exact } from "./json";

export class Sum {
  private whole = 0n;
  private parts: number[] = []; // of what is not whole: doubles that do not overlap

  add(value: number | Exact): void {
    const text = value instanceof Exact ? value.text : String(value);
    if (/^-?\d+$/.test(text)) this.whole += BigInt(text);
    else this.spread(Number(text));
  }

  private spread(x: number): void {
    let kept = 0;
    for (let y of this.parts) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low !== 0) this.parts[kept++] = low;
      x = high;
    }
    this.parts.length = kept;
    this.parts.push(x);
  }

  copy(): Sum {
    const to = new Sum();
    to.whole = this.whole;
    to.parts = this.parts.slice();
    return to;
  }

  value(): number | Exact {
    const parts = this.parts.filter((part) => part !== 0);
    if (parts.length === 0)
      return this.whole >= -(2n ** 53n) && this.whole <= 2n ** 53n ? Number(this.whole) : new Exact(this.whole.toString());
    const all = this.copy();
    let rest = all.whole;
    all.whole = 0n;
    while (rest !== 0n) {
      const piece = Number(rest);
      all.spread(piece);
      rest -= BigInt(piece);
    }
    return all.parts.reduce((sum, part) => sum + part, 0);
  }
}

// Text of any length, of which a bounded part is shown at once.
import { useMemo, useState } from "preact/hooks";
import { cutAt } from "../lib/cut";
import { thousands } from "../text";

export const LONG_CHARS = 2000;
const STEP_CHARS = 8000;

export function Long({ text }: { text: string }) {
  const [most, setMost] = useState(LONG_CHARS);
  const shown = useMemo(() => text.slice(0, cutAt(text, most)), [text, most]);
  const left = text.length - shown.length;
  return <><bdi>{shown}</bdi>{left > 0 && <> <button type="button" class="btn tiny" onClick={() => setMost(most + STEP_CHARS)}>{`+${thousands(left)}`}</button></>}</>;
}

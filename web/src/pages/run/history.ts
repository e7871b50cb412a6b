// The states of a run at earlier sequences: folded forward from the nearest state that was kept.
import { Fold } from "../../lib/fold";
import type { EventLog } from "../../lib/log";

export interface History {
  states: Fold[]; // in order of their sequence; each is the state before its next event
  whole: boolean; // there is one for the beginning
}
const STATES_MAX = 64;

/** Keeps some of the states, further and further apart. */
export function addHistory(history: History, fold: Fold): void {
  const { states } = history;
  const last = states[states.length - 1];
  const apart = last === undefined ? 0 : Math.max(250, Math.floor(fold.next / 32));
  if (last !== undefined && fold.next - last.next < apart) return;
  states.push(fold.copy());
  if (states.length > STATES_MAX) states.splice(0, states.length, ...states.filter((_, i) => i % 2 === 0));
}

/** The state after the event, or the sequence of the first event that is not in memory. */
export function stateAt(history: History, log: EventLog, start: Fold, seq: number): Fold | number {
  let from: Fold | undefined;
  for (const state of history.states) if (state.next <= seq + 1 && (!from || state.next > from.next)) from = state;
  const fold = (from ?? start).copy();
  for (let i = fold.next; i <= seq; i++) {
    const e = log.get(i);
    if (!e) return i;
    fold.apply(e);
  }
  return fold;
}

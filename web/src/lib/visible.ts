// Text that reads as it is: characters that only turn others around are shown by their code, for with them "Pay 100 ... 000,1" reads "Pay 100 1,000".
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** In a string of JSON they are escapes, so that its value stays. */
export const visible = (text: string): string => text.replace(TURNS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
